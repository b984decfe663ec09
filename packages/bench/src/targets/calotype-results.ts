// A gateway with or without a store of results. The environment says which: RESULTS is `none`, `discard` or `files`.
import { createGateway, type ResultsOptions } from "@calotype/core";
import { createFileStore, toNodeHandler } from "@calotype/node";
import { serve } from "./serve.ts";

const { UPSTREAM = "", RESULTS = "none", DIRECTORY = "" } = process.env;

const STORES: Readonly<Record<string, () => ResultsOptions["store"]>> = {
  discard:
    () =>
    async ({ id, body }) => {
      let bytes = 0;
      for await (const chunk of body) bytes += chunk.length;
      return `https://store.test/${id}?bytes=${bytes}`;
    },
  files: () => createFileStore({ directory: DIRECTORY }),
};
const store = STORES[RESULTS]?.();

serve(
  toNodeHandler(
    createGateway({
      models: { "seedream-4-5-251128": { family: "seedream" } },
      channels: [{ id: "ark", family: "seedream", apiKey: "upstream-key", baseUrl: UPSTREAM }],
      callers: [
        { id: "native", key: "native-key" },
        { id: "openai", key: "openai-key", streamFormat: "openai" },
      ],
      ...(store !== undefined && { results: { store } }),
    }),
  ),
);
