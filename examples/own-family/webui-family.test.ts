import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { createGateway, type UsageRecord } from "@calotype/core";
import { createFamilyChecks } from "@calotype/core/testing";
import OpenAI, { APIError, toFile } from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { webuiFamily } from "./webui-family.ts";

const CALLER_KEY = "caller-canary-e82c3d50";
const CHANNEL_KEY = "me:canary-71a9f604";
const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const BASE64 = PNG.toString("base64");

/** What the gateway makes of recorded responses of the server, checked by the suite that every family must pass. */
describe("the family", () => {
  const checks = createFamilyChecks({
    family: webuiFamily,
    model: "sd_xl_base_1.0",
    exchanges: [
      {
        name: "two images",
        request: { fields: { prompt: "two foxes", n: 2, size: "1024x768", steps: 20 } },
        response: { body: { images: [BASE64, BASE64], parameters: { steps: 20 }, info: "{}" } },
        expects: { images: 2, usage: { generated_images: 2 } },
      },
      {
        name: "an edit",
        request: { operation: "edit", fields: { prompt: "a fox" } },
        response: { body: { images: [BASE64], parameters: {}, info: "{}" } },
        expects: { images: 1, usage: { generated_images: 1 } },
      },
    ],
    failures: [
      { status: 401, kind: "credential", body: { detail: "Incorrect username or password" } },
      { status: 422, kind: "content", body: { detail: [{ loc: ["body", "steps"], msg: "not an integer" }] } },
      {
        status: 500,
        kind: "server",
        body: { error: "OutOfMemoryError", detail: "", errors: "CUDA out of memory." },
      },
    ],
  });

  it.each(checks)("$name", async (check) => {
    await expect(check.run()).resolves.toBeUndefined();
  });
});

/** The official client of a gateway whose only channel is a server on loopback. */
async function connect(status = 200, body: object = { images: [BASE64], parameters: {}, info: "{}" }) {
  const sent: { url: string | undefined; authorization: string | undefined; body: unknown }[] = [];
  const respond = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { url, headers } = req;
    sent.push({ url, authorization: headers.authorization, body: await json(req) });
    res.writeHead(status, { "content-type": "application/json" });
    res.end(JSON.stringify(body));
  };
  const server = createServer((req, res) => void respond(req, res));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;

  const records: UsageRecord[] = [];
  const gateway = createGateway({
    families: [webuiFamily],
    models: { pictures: { family: "webui" } },
    channels: [
      {
        id: "workshop",
        family: "webui",
        apiKey: CHANNEL_KEY,
        baseUrl: `http://127.0.0.1:${port}`,
        modelMapping: { pictures: "sd_xl_base_1.0" },
      },
    ],
    callers: [{ id: "tester", key: CALLER_KEY }],
    billing: { model_details: { pictures: { pricing_mode: "per-request", model_price: "0.01" } } },
    logger: { warn: () => undefined, error: () => undefined },
    onUsage: (record) => records.push(record),
  });
  const client = new OpenAI({
    baseURL: "http://gateway.test/v1",
    apiKey: CALLER_KEY,
    maxRetries: 0,
    fetch: (input, init) => gateway.fetch(new Request(input, init)),
  });
  onTestFinished(async () => {
    await gateway.close();
    server.close();
  });
  return { client, records, sent };
}

describe("the official client", () => {
  it("gets images, and the server gets its own fields and key", async () => {
    const { client, sent, records } = await connect();

    const { data } = await client.images.generate({
      model: "pictures",
      prompt: "a red fox",
      size: "1024x1024",
    });

    expect(data).toEqual([{ b64_json: BASE64, size: "1024x1024" }]);
    expect(sent).toEqual([
      {
        url: "/sdapi/v1/txt2img",
        authorization: `Basic ${btoa(CHANNEL_KEY)}`,
        body: {
          prompt: "a red fox",
          batch_size: 1,
          width: 1024,
          height: 1024,
          override_settings: { sd_model_checkpoint: "sd_xl_base_1.0" },
        },
      },
    ]);
    expect(records).toMatchObject([{ channel: "workshop", images: 1, charge: "0.01" }]);
  });

  it("edits an image with a mask", async () => {
    const { client, sent } = await connect();
    const file = await toFile(PNG, "a.png", { type: "image/png" });

    await client.images.edit({ model: "pictures", prompt: "a fox", image: file, mask: file });

    expect(sent).toMatchObject([
      { url: "/sdapi/v1/img2img", body: { init_images: [BASE64], mask: BASE64, inpainting_mask_invert: 1 } },
    ]);
  });

  it.each([
    ["a size that the server does not take", { size: "1500x1501" }, "size"],
    ["too many images", { n: 9 }, "n"],
    ["links, which cannot be delivered", { response_format: "url" }, "response_format"],
  ] as const)("is told of %s before anything is sent", async (_what, fields, param) => {
    const { client, sent, records } = await connect();

    const error = await failureOf(
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The client's types allow known sizes only.
      client.images.generate({ model: "pictures", prompt: "a fox", ...(fields as object) }),
    );

    expect(error).toMatchObject({ status: 400, param });
    expect([sent, records]).toEqual([[], []]);
  });
});

async function failureOf(call: PromiseLike<unknown>): Promise<APIError> {
  const error: unknown = await Promise.resolve(call).then(
    () => new Error("The call did not fail."),
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw error;
  return error;
}
