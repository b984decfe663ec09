import { composeGateway } from "@calotype/core/compose";
import { seedream } from "@calotype/core/families";
import { expect, it } from "vitest";
import { wordList } from "./word-list.ts";

const IMAGE = { model: "ep", created: 1, data: [{ url: "https://ark.example/1.png" }], usage: {} };

it("refuses prompts before anything is sent or charged, and counts them", async () => {
  const charges: unknown[] = [];
  const gateway = composeGateway(
    {
      models: { doodle: { family: "seedream" } },
      channels: [{ id: "ark", family: "seedream", apiKey: "key" }],
      callers: [{ id: "me", key: "sk-me" }],
      billing: { model_details: { doodle: { pricing_mode: "per-request", model_price: "0.03" } } },
      onUsage: ({ charge }) => charges.push(charge),
      logger: { warn() {}, error() {} },
      fetch: async () => Response.json(IMAGE),
    },
    { families: [seedream], features: [wordList(["owl"])] },
  );
  const send = (path: string, body?: object): Promise<Response> =>
    gateway.fetch(
      new Request(`http://localhost/v1/${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: "Bearer sk-me", "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );

  expect((await send("images/generations", { model: "doodle", prompt: "An OWL" })).status).toBe(403);
  expect((await send("images/generations", { model: "doodle", prompt: "a fox" })).status).toBe(200);
  expect(await (await send("refused")).json()).toEqual({ refused: 1 });
  await gateway.close();
  expect(charges).toEqual(["0.03"]);
});
