import { type ClientName, createGateway, type GatewayOptions } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import express from "express";
import { listen } from "../../support/listen.js";
import { CHANNEL_KEY } from "../../support/test-names.js";
import type { Connection, ModelKey } from "./client.js";

/** A model with its service names. */
interface ServedModel {
  readonly family: string;
  readonly model: string;
  readonly gptImage1: string;
  readonly gptImage2: string;
  readonly upstream: string;
}

/** The models of the tables: one that makes no small images, one that makes one image per call, one of family B. */
export const MODELS: Readonly<Record<ModelKey, ServedModel>> = {
  "Seedream 4.5": {
    family: "seedream",
    model: "seedream-4-5-251128",
    gptImage1: "gpt-image-1",
    gptImage2: "gpt-image-2",
    upstream: "doubao-seedream-4-5-251128",
  },
  "Seedream 5.0 Pro": {
    family: "seedream",
    model: "seedream-5-0-pro-260628",
    gptImage1: "gpt-image-1.5",
    gptImage2: "gpt-image-2.5-flare",
    upstream: "doubao-seedream-5-0-pro-260628",
  },
  "Qwen-Image 2.0": {
    family: "qwen-image",
    model: "qwen-image-2.0",
    gptImage1: "gpt-image-1-mini",
    gptImage2: "gpt-image-2.5-sunburst",
    upstream: "qwen-image-2.0",
  },
};

/** A gateway that serves the models, and what it did. */
export interface ServedModels {
  /** The gateway as a caller with this profile, or with none, reaches it. */
  readonly connect: (model: ModelKey, profile?: ClientName) => Connection;
  /** The status of each response of the gateway, in order. */
  readonly statuses: readonly number[];
  /** The requests for the provider's links, with their headers. */
  readonly downloads: readonly Request[];
  readonly close: () => Promise<void>;
}

/** Chat completions are served below a mount path only. */
export const CHAT_MOUNT = "/chat";

const RESULTS = "https://results.example.com";

/**
 * Serves the models, each under three names. The provider's links have a public address, because some
 * clients refuse others; only `connection.fetch` opens them.
 */
export async function serveModels(profiles: readonly ClientName[]): Promise<ServedModels> {
  const emulator = createEmulator({ origin: RESULTS, images: "plain" });
  const gateway = createGateway({
    ...optionsOf(profiles),
    fetch: (input, init) => emulator.fetch(input, init),
    logger: { warn: () => {}, error: () => {} },
  });
  const statuses: number[] = [];
  const downloads: Request[] = [];
  const app = express()
    .use((_, response, next) => {
      response.once("close", () => statuses.push(response.statusCode));
      next();
    })
    .use(CHAT_MOUNT, toExpressHandler(gateway))
    .use(toExpressHandler(gateway));
  const { url, close } = await listen(app);
  const openLink: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    if (!request.url.startsWith(RESULTS)) return fetch(request);
    downloads.push(request);
    return emulator.fetch(request);
  };
  return {
    statuses,
    downloads,
    connect: (key, profile) => ({ url, apiKey: keyOf(profile), ...MODELS[key], fetch: openLink }),
    close: async () => {
      await close();
      await gateway.close();
    },
  };
}

function optionsOf(profiles: readonly ClientName[]): GatewayOptions {
  const served = Object.values(MODELS);
  const names = served.flatMap((model) => [
    { ...model, name: model.model },
    { ...model, name: model.gptImage1 },
    { ...model, name: model.gptImage2 },
  ]);
  const price = { pricing_mode: "per-request" as const, model_price: "0.03" };
  const mappingOf = (family: string) =>
    Object.fromEntries(
      names.filter((each) => each.family === family).map(({ name, upstream }) => [name, upstream]),
    );
  return {
    models: Object.fromEntries(
      names.map(({ name, family, model }) => [
        name,
        { family, capabilities: model, ...(family === "qwen-image" && { edits: true }) },
      ]),
    ),
    channels: [
      {
        id: "ark",
        family: "seedream",
        baseUrl: `${RESULTS}/api/v3`,
        apiKey: CHANNEL_KEY,
        modelMapping: mappingOf("seedream"),
      },
      {
        id: "dashscope",
        family: "qwen-image",
        baseUrl: `${RESULTS}/api/v1`,
        apiKey: CHANNEL_KEY,
        modelMapping: mappingOf("qwen-image"),
      },
    ],
    callers: [
      { id: "none", key: keyOf() },
      ...profiles.map((client) => ({ id: client, key: keyOf(client), client })),
    ],
    chatCompletions: true,
    billing: { model_details: Object.fromEntries(names.map(({ name }) => [name, price])) },
  };
}

const keyOf = (profile = "none"): string => `caller-of-${profile}`;
