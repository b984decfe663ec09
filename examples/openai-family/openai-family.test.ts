import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createGateway, type UsageRecord } from "@calotype/core";
import OpenAI, { APIError, BadRequestError } from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { openaiFamily } from "./openai-family.ts";

const CALLER_KEY = "caller-canary-e82c3d50";
const CHANNEL_KEY = "sk-canary-71a9f604";

interface ReadResponse {
  readonly status: number;
  readonly body: object;
}

const TWO_IMAGES: ReadResponse = {
  status: 200,
  body: {
    created: 1763683200,
    data: [{ b64_json: "aGVsbG8=" }, { b64_json: "d29ybGQ=" }],
    usage: { input_tokens: 50, output_tokens: 2112, total_tokens: 2162 },
  },
};

/** Creates the official client of a gateway whose only channel is an upstream server on loopback. */
async function connect(response: ReadResponse) {
  const sent: { url: string | undefined; authorization: string | undefined; body: unknown }[] = [];
  const respond = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { url, headers } = req;
    sent.push({ url, authorization: headers.authorization, body: await readJson(req) });
    res.writeHead(response.status, { "content-type": "application/json", "x-request-id": "req_upstream" });
    res.end(JSON.stringify(response.body));
  };
  const upstream = createServer((req, res) => void respond(req, res));
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const address = upstream.address();
  const port = typeof address === "object" ? address?.port : undefined;

  const records: UsageRecord[] = [];
  const gateway = createGateway({
    families: [openaiFamily],
    models: { "pictures-1": { family: "openai" } },
    channels: [
      {
        id: "openai",
        family: "openai",
        apiKey: CHANNEL_KEY,
        baseUrl: `http://127.0.0.1:${port}/v1`,
        modelMapping: { "pictures-1": "gpt-image-1" },
      },
    ],
    callers: [{ id: "tester", key: CALLER_KEY }],
    billing: {
      model_details: {
        "pictures-1": { pricing_mode: "per-token", output_token_price: "40", input_token_price: "5" },
      },
    },
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
    upstream.close();
  });
  return { client, records, sent };
}

describe("a family from outside the package", () => {
  it("sends the client's own fields under the upstream's model name and key", async () => {
    const { client, sent } = await connect(TWO_IMAGES);

    const { data } = await client.images.generate({
      model: "pictures-1",
      prompt: "a red fox",
      n: 2,
      quality: "low",
      background: "transparent",
    });

    expect(data).toEqual([{ b64_json: "aGVsbG8=" }, { b64_json: "d29ybGQ=" }]);
    expect(sent).toEqual([
      {
        url: "/v1/images/generations",
        authorization: `Bearer ${CHANNEL_KEY}`,
        body: { model: "gpt-image-1", prompt: "a red fox", n: 2, quality: "low", background: "transparent" },
      },
    ]);
  });

  it("is recorded and charged by the tokens that the upstream reports", async () => {
    const { client, records } = await connect(TWO_IMAGES);

    const { usage } = await client.images.generate({ model: "pictures-1", prompt: "a red fox", n: 2 });

    expect(usage).toEqual({ input_tokens: 50, output_tokens: 2112, total_tokens: 2162 });
    expect(records).toMatchObject([
      {
        caller: "tester",
        model: "pictures-1",
        upstreamModel: "gpt-image-1",
        images: 2,
        usage: { generated_images: 2, output_tokens: 2112, total_tokens: 2162 },
        // 2112 × 40 ÷ 1,000,000 + 50 × 5 ÷ 1,000,000
        charge: "0.08473",
        upstreamRequestId: "req_upstream",
      },
    ]);
  });

  it("refuses a wrong field before anything is sent", async () => {
    const { client, records, sent } = await connect(TWO_IMAGES);

    const error = await failureOf(client.images.generate({ model: "pictures-1", prompt: "a fox", n: 11 }));

    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ code: "invalid_request_error", param: "n" });
    expect(error.message).toContain("n must be a whole number from 1 to 10.");
    expect([sent, records]).toEqual([[], []]);
  });

  it.each([
    { status: 400, code: "moderation_blocked", seen: { status: 400, code: "moderation_blocked" } },
    { status: 429, code: "rate_limit_exceeded", seen: { status: 429, code: "rate_limit_exceeded" } },
    { status: 429, code: "insufficient_quota", seen: { status: 429, code: "insufficient_quota" } },
    {
      status: 400,
      code: "billing_hard_limit_reached",
      seen: { status: 401, code: "upstream_authentication_failed" },
    },
    { status: 401, code: "invalid_api_key", seen: { status: 401, code: "upstream_authentication_failed" } },
    { status: 500, code: "server_error", seen: { status: 502, code: "server_error" } },
  ])(
    "responds to the upstream's $status $code with $seen.status $seen.code",
    async ({ status, code, seen }) => {
      const body = { error: { message: "No.", type: "upstream_type", param: null, code } };
      const { client, records } = await connect({ status, body });

      const error = await failureOf(client.images.generate({ model: "pictures-1", prompt: "a fox" }));

      expect(error).toMatchObject(seen);
      expect(records).toMatchObject([{ status: seen.status, images: 0, charge: "0" }]);
    },
  );
});

async function failureOf(call: PromiseLike<unknown>): Promise<APIError> {
  const error: unknown = await Promise.resolve(call).then(
    () => new Error("The call did not fail."),
    (reason: unknown) => reason,
  );
  if (!(error instanceof APIError)) throw error;
  return error;
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of req) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}
