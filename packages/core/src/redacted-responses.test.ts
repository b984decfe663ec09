import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { GatewayError } from "./errors.js";
import type { Family } from "./families/family.js";
import { seedream } from "./families/index.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  DASHSCOPE_KEY,
  DASHSCOPE_RESPONSE,
  GENERATIONS,
  NATIVE,
  type Provider,
  readResponse,
} from "./testing/test-gateway.js";

/** A key of another channel, and two secrets of headers. */
const OTHER_KEY = "other-canary-55e0d1b2";
const HEADER_KEY = "header-canary-9e0d4c71";
const ODD_HEADER = "8f2b1c9d-77aa-4e01-canary";
const SECRETS = [ARK_KEY, DASHSCOPE_KEY, OTHER_KEY, HEADER_KEY, ODD_HEADER];
const QUOTE = SECRETS.join(" and ");

const encoder = new TextEncoder();

/** The text as a body in chunks of this number of bytes. */
function chunked(text: string, size: number, headers: Record<string, string>): Response {
  const bytes = encoder.encode(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
  return new Response(ReadableStream.from(chunks), { headers });
}

const json = (value: object, headers: Record<string, string> = {}, size = 7): Response =>
  chunked(JSON.stringify(value), size, { "content-type": "application/json", ...headers });
const events = (...values: readonly object[]): Response =>
  chunked(`${values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("")}data: [DONE]\n\n`, 11, {
    "content-type": "text/event-stream",
    "x-request-id": QUOTE,
  });

const IMAGE = { url: "https://ark.test/1.png", size: "2048x2048" };
const FAILED_ITEM = { error: { code: QUOTE, message: `The key ${QUOTE} is wrong.` } };
const LARGE_IMAGE = "A".repeat(150_000);
const PARTIAL = { type: "image_generation.partial_succeeded", image_index: 0, ...IMAGE };
const PARTIAL_FAILED = { type: "image_generation.partial_failed", image_index: 1, ...FAILED_ITEM };
const COMPLETED = { type: "image_generation.completed", usage: { generated_images: 1, note: QUOTE } };

const ARK = { model: "seedream-4-5-251128", prompt: "a kite" };
const STREAM = { ...ARK, stream: true };
const QWEN = { model: "image-plus", prompt: "a kite" };

const CASES: readonly (readonly [string, object, () => Response])[] = [
  ["x-request-id of a response with an image", ARK, () => json(ARK_RESPONSE, { "x-request-id": QUOTE })],
  ["x-request-id of a response without an image", ARK, () => json({ data: [] }, { "x-request-id": QUOTE })],
  ["x-request-id of an error", ARK, () => errorWith({ "x-request-id": QUOTE })],
  ["request_id of family B", QWEN, () => json({ ...DASHSCOPE_RESPONSE, request_id: QUOTE })],
  ["x-request-id of family B", QWEN, () => json(DASHSCOPE_RESPONSE, { "x-request-id": QUOTE })],
  ["an item that failed", ARK, () => json({ ...ARK_RESPONSE, data: [IMAGE, FAILED_ITEM] })],
  ["only items that failed", ARK, () => json({ ...ARK_RESPONSE, data: [FAILED_ITEM] })],
  ["any field of a small response", ARK, () => json({ ...ARK_RESPONSE, note: QUOTE, [ARK_KEY]: [QUOTE] })],
  [
    "any field of a large response",
    { ...ARK, response_format: "b64_json" },
    () =>
      json(
        {
          note: QUOTE,
          ...ARK_RESPONSE,
          data: [{ b64_json: LARGE_IMAGE, note: QUOTE }, FAILED_ITEM],
          end: QUOTE,
        },
        { "x-request-id": QUOTE },
        997,
      ),
  ],
  [
    "a large response without an image",
    { ...ARK, response_format: "b64_json" },
    () =>
      json(
        { pad: LARGE_IMAGE, data: [FAILED_ITEM], error: FAILED_ITEM.error },
        { "x-request-id": QUOTE },
        997,
      ),
  ],
  ["an event of an image that failed", STREAM, () => events(PARTIAL, PARTIAL_FAILED, COMPLETED)],
  ["an error event", STREAM, () => events({ type: "error", ...FAILED_ITEM })],
  ["an error event after an image", STREAM, () => events(PARTIAL, { type: "error", ...FAILED_ITEM })],
  ["a completed event", STREAM, () => events(PARTIAL, COMPLETED)],
  ["a stream that breaks off", STREAM, () => brokenStream()],
  ["an error that escapes", ARK, () => errorWith({}, `"\\u0061rk-canary-7d793037 ${QUOTE}"`)],
];

function errorWith(headers: Record<string, string>, message = JSON.stringify(QUOTE)): Response {
  const body = `{"error":{"code":${message},"message":${message},"param":${message}}}`;
  return new Response(body, { status: 400, headers: { "content-type": "application/json", ...headers } });
}

function brokenStream(): Response {
  return new Response(ReadableStream.from(breakOff()), { headers: { "content-type": "text/event-stream" } });
}

/** Its error quotes the request, as an operator's own fetch may. */
async function* breakOff(): AsyncGenerator<Uint8Array> {
  yield encoder.encode(`data: ${JSON.stringify(PARTIAL)}\n\n`);
  const cause = { message: QUOTE, config: { headers: QUOTE } };
  throw Object.assign(new Error(QUOTE, { cause }), { request: QUOTE });
}

/** Its error has what the provider wrote. */
const throwing: Family = {
  ...seedream,
  name: "throwing",
  responseShape: undefined,
  fromUpstream(body, request) {
    const { errors, ...result } = seedream.fromUpstream(body, request);
    for (const { message } of errors) throw new GatewayError("upstream_rejected", message);
    return { ...result, errors };
  },
};

const ARK_CHANNEL = { id: "ark", family: "seedream", apiKey: ARK_KEY };
const QWEN_CHANNEL = { id: "bailian", family: "qwen-image", apiKey: DASHSCOPE_KEY };
const HARMLESS = { "x-region": "tos-cn-beijing", "x-flag": "1", "user-agent": "images" };

/** A gateway that records the calls of its hooks and logger. */
function startWatched(provider: Provider, options: Partial<GatewayOptions> = {}) {
  const told: unknown[] = [];
  const tell = (...values: readonly unknown[]): void => void told.push(...values);
  const test = createTestGateway(provider, {
    channels: [
      {
        ...ARK_CHANNEL,
        headers: { "x-proxy-key": HEADER_KEY, "x-corp": ODD_HEADER },
      },
      { id: "other", family: "seedream", apiKey: OTHER_KEY, modelMapping: { nothing: "nothing" } },
      QWEN_CHANNEL,
    ],
    onError: tell,
    onRequest: tell,
    onUsage: tell,
    logger: { warn: tell, error: tell },
    ...options,
  });
  return { ...test, told };
}

function secretsIn(...shown: readonly unknown[]): readonly string[] {
  const text = shown
    .map((value) =>
      inspect(value, { depth: 20, showHidden: true, maxStringLength: null, maxArrayLength: null }),
    )
    .join("\n");
  return SECRETS.filter((secret) => text.includes(secret));
}

describe.each([
  ["/v1", GENERATIONS],
  ["/api/v3", NATIVE],
])("%s shows no key that the provider quotes in", (path, url) => {
  it.each(CASES.filter(([, body]) => body !== QWEN || path === "/v1"))(
    "%s",
    async (_where, body, respond) => {
      const { gateway, told } = startWatched(() => respond());

      const response = await gateway.fetch(new Request(url, createPost(body)));
      const { status, text, headers } = await readResponse(response);
      await gateway.close();

      expect(secretsIn(text, [...headers], told)).toEqual([]);
      // The key was there, and is redacted.
      expect({ status, shown: `${text}${inspect(told, { depth: 20 })}` }).toMatchObject({
        shown: expect.stringContaining("***"),
      });
      expect(inspect(gateway.status())).not.toContain("canary");
    },
  );
});

describe("a redacted response", () => {
  it("stays JSON, whose images and usage are those of the provider", async () => {
    const { post, records } = startedWith(() =>
      json({ ...ARK_RESPONSE, data: [{ ...IMAGE, note: QUOTE }] }, {}, 5_000),
    );
    const { body } = await post(ARK);
    const redacted = SECRETS.map(() => "***").join(" and ");
    expect(body["data"]).toEqual([{ ...IMAGE, note: redacted }]);
    expect(records).toMatchObject([{ images: 1, usage: ARK_RESPONSE.usage }]);
  });

  it.each<[string, object, Family]>([
    ["as JSON", {}, seedream],
    ["as a stream", { stream: true }, seedream],
    ["of a family that throws", {}, throwing],
    ["of a family that throws, as a stream", { stream: true }, throwing],
  ])(
    "of several calls has no key in extra.errors, although the provider escapes it: %s",
    async (_what, more, family) => {
      let calls = 0;
      const failed = `{"data":[{"error":{"code":"\\u0061rk-canary-7d793037","message":"\\u0061rk-canary-7d793037"}}]}`;
      const { gateway, told } = startedWith(
        () =>
          calls++ === 0 ? json(ARK_RESPONSE) : chunked(failed, 7, { "content-type": "application/json" }),
        {
          families: [throwing],
          models: { single: { family: family.name, capabilities: { imagesPerCall: 1 } } },
          channels: [{ ...ARK_CHANNEL, family: family.name }],
          streamFormat: "openai",
        },
      );
      const response = await gateway.fetch(createPost({ model: "single", prompt: "a kite", n: 2, ...more }));
      const text = await response.text();
      await gateway.close();
      expect(text).toContain('"message":"***"}]');
      expect(secretsIn(text, told)).toEqual([]);
    },
  );

  it("does not redact the value of a header that is not secret", async () => {
    const { post } = startedWith(
      () => json({ ...ARK_RESPONSE, data: [{ url: "https://tos-cn-beijing.test/1.png" }] }),
      {
        channels: [{ ...ARK_CHANNEL, headers: HARMLESS }, QWEN_CHANNEL],
      },
    );
    const { body } = await post(ARK);
    expect(body["data"]).toEqual([{ url: "https://tos-cn-beijing.test/1.png" }]);
  });

  it("sends an event on as soon as it is complete", async () => {
    const second = Promise.withResolvers<void>();
    async function* produce(): AsyncGenerator<Uint8Array> {
      yield encoder.encode(`data: {"note":"${ARK_KEY}"}\n\n`);
      await second.promise;
      yield encoder.encode(`data: [DONE]\n\n`);
    }
    const { gateway } = startedWith(
      () =>
        new Response(ReadableStream.from(produce()), { headers: { "content-type": "text/event-stream" } }),
    );
    const reader = (await gateway.fetch(createPost(STREAM))).body?.getReader();
    let seen = "";
    while (!seen.includes("\n\n")) seen += new TextDecoder().decode((await reader?.read())?.value);
    expect(seen).toBe('data: {"note":"***"}\n\n');
    second.resolve();
    await reader?.cancel();
    await gateway.close();
  });
});

describe("gateway.test", () => {
  it.each<[string, () => Response]>([
    ["an item that failed", () => json({ data: [FAILED_ITEM] })],
    ["an error", () => errorWith({ "x-request-id": QUOTE })],
    [
      "what its fetch throws",
      () => {
        throw Object.assign(new Error(QUOTE), { request: QUOTE });
      },
    ],
  ])("shows no key of %s", async (_what, respond) => {
    const { gateway, told } = startWatched(() => respond());
    const result = await gateway.probeChannel("ark", { model: "seedream-4-5-251128" });
    expect(result.ok).toBe(false);
    expect(secretsIn(result, told)).toEqual([]);
    expect(inspect(result, { depth: 9 })).toContain("***");
  });
});

function startedWith(provider: Provider, options: Partial<GatewayOptions> = {}) {
  const records: object[] = [];
  const watched = startWatched(provider, { onUsage: (record) => void records.push(record), ...options });
  return { ...watched, records };
}
