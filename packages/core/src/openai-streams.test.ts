import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import type { FailureEvent } from "./events.js";
import type { Family } from "./families/family.js";
import { seedream } from "./families/seedream/seedream.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import type { Dependencies } from "./kernel/kernel-parts.js";
import { NO_USAGE, NOT_STATED } from "./testing/openai-event.js";
import { createScriptedSource, type ScriptedSource } from "./testing/scripted-source.js";
import {
  ARK_KEY,
  createPost,
  createTestGateway,
  DASHSCOPE_KEY,
  DASHSCOPE_RESPONSE,
  type Provider,
  refusal,
  type TestGateway,
} from "./testing/test-gateway.js";
import { type Transport, TransportError } from "./upstream/transport.js";

const STREAMING = "seedream-4-5-251128";
const SINGLE = "seedream-5-0-pro-260628";
const QWEN = "image-2.0-pro";
const PRICE = { pricing_mode: "per-request", model_price: "0.1" } as const;
const COMPLETED = "image_generation.completed";
const CREATED = 1_763_683_200;
const encoder = new TextEncoder();

const OPTIONS: Partial<GatewayOptions> = {
  streamFormat: "openai",
  models: {
    [STREAMING]: { family: "seedream" },
    [SINGLE]: { family: "seedream" },
    "image-2.0*": { family: "qwen-image" },
  },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: ARK_KEY,
      modelMapping: { [STREAMING]: "ep-1", [SINGLE]: "ep-1" },
    },
    { id: "bailian", family: "qwen-image", apiKey: DASHSCOPE_KEY },
  ],
  billing: { model_details: { "*": PRICE } },
};

function open(
  provider: Provider,
  options: Partial<GatewayOptions> = {},
  dependencies: Partial<Dependencies> = {},
): TestGateway {
  return createTestGateway(
    provider,
    { ...OPTIONS, ...options },
    { now: () => 1_800_000_000_000, ...dependencies },
  );
}

type Event = readonly [name: string | undefined, data: Record<string, unknown> | string];

/** The events of a stream. Each has to be complete. */
function parseEvents(text: string): readonly Event[] {
  expect(text).toMatch(/\n\n$/);
  return text
    .slice(0, -2)
    .split("\n\n")
    .map((event) => {
      const data = /^data: (.*)$/m.exec(event)?.[1] ?? "";
      return [/^event: (.*)$/m.exec(event)?.[1], data === "[DONE]" ? data : JSON.parse(data)];
    });
}

const DONE: Event = [undefined, "[DONE]"];

const arkEvent = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify({ type: event, model: "ep-1", created: CREATED, ...data })}\n\n`;
const arkImage = (index: number): string =>
  arkEvent("image_generation.partial_succeeded", {
    image_index: index,
    url: `https://ark.test/${index}.png`,
    size: "2048x2048",
  });
const arkFailed = (index: number): string =>
  arkEvent("image_generation.partial_failed", {
    image_index: index,
    error: { code: "Sensitive", message: `Not ${ARK_KEY} of ep-1.` },
  });
const arkCompleted = (images: number): string =>
  arkEvent(COMPLETED, {
    usage: { generated_images: images, output_tokens: images * 100, total_tokens: images * 100 + 30 },
  });
const ARK_DONE = "data: [DONE]\n\n";
const usageOf = (images: number): object => ({
  generated_images: images,
  output_tokens: images * 100,
  total_tokens: images * 100 + 30,
  input_tokens: 30,
  input_tokens_details: { text_tokens: 30, image_tokens: 0 },
});
const shown = (index: number, rest: object = {}): Event => [
  COMPLETED,
  {
    ...NOT_STATED,
    type: COMPLETED,
    created_at: CREATED,
    url: `https://ark.test/${index}.png`,
    size: "2048x2048",
    ...rest,
  },
];

/** A provider that sends what the source sends. */
function createTransport(source: ScriptedSource, contentType: string): Transport {
  return {
    send: async () => ({
      status: 200,
      headers: new Headers({ "content-type": contentType, "x-request-id": "upstream-1" }),
      body: source.body,
      cancel: () => source.fail(new TransportError("broken", undefined)),
    }),
    download: () => Promise.reject(new TransportError("unreachable", undefined)),
    close: async () => {},
  };
}

/** A gateway whose provider streams what the source sends. */
function openSource(source: ScriptedSource, options: Partial<GatewayOptions> = {}): TestGateway {
  const transport = createTransport(source, "text/event-stream");
  return open(() => new Response(), options, { transport });
}

const REQUEST = { model: STREAMING, prompt: "a fox", n: 3, stream: true };
const FAILED: object = { index: 1, code: "Sensitive", message: `Not *** of ${STREAMING}.` };

const USAGE = "image_generation.usage";
const USAGE_OF_TWO = [USAGE, { type: USAGE, created_at: 1_800_000_000, usage: usageOf(2) }] as const;

describe("a stream of the provider in OpenAI's format", () => {
  it.each<[string, readonly string[], readonly Event[], object]>([
    [
      "as many images as requested",
      [arkImage(0), arkImage(1), arkImage(2), arkCompleted(3), ARK_DONE],
      [shown(0), shown(1), shown(2, { usage: usageOf(3) }), DONE],
      { images: 3, charge: "0.3" },
    ],
    [
      "a report without a count before the images",
      [arkEvent(COMPLETED, {}), arkImage(0), arkImage(1), arkImage(2), ARK_DONE],
      [shown(0), shown(1), shown(2), DONE],
      { images: 3, charge: "0.1" },
    ],
    [
      "fewer images",
      [arkImage(0), arkImage(1), arkCompleted(2), ARK_DONE],
      [shown(0), shown(1), USAGE_OF_TWO, DONE],
      { images: 2, charge: "0.2" },
    ],
    [
      "a failed image before the last one",
      [arkImage(0), arkFailed(1), arkImage(2), arkCompleted(2), ARK_DONE],
      [shown(0), shown(2, { usage: usageOf(2), extra: { errors: [FAILED] } }), DONE],
      { images: 2, charge: "0.2" },
    ],
    [
      "usage that comes before the images",
      [arkCompleted(2), arkImage(0), arkImage(1), ARK_DONE],
      [shown(0), shown(1), USAGE_OF_TWO, DONE],
      { images: 2, charge: "0.2" },
    ],
    [
      "no report of usage",
      [arkImage(0), arkImage(1), arkImage(2), ARK_DONE],
      [shown(0), shown(1), shown(2), DONE],
      { images: 3, charge: "0.3" },
    ],
    [
      "an error after an image",
      [
        arkImage(0),
        `event: error\ndata: {"error":{"code":"InternalServiceError","message":"It broke."}}\n\n`,
      ],
      [
        shown(0),
        [
          "image_generation.usage",
          {
            type: "image_generation.usage",
            created_at: 1_800_000_000,
            usage: NO_USAGE,
            extra: { errors: [{ index: 1, code: "InternalServiceError", message: "It broke." }] },
          },
        ],
        DONE,
      ],
      { images: 1, charge: "0.1", errorCode: "InternalServiceError" },
    ],
    [
      "only failed images",
      [arkFailed(1), arkCompleted(0), ARK_DONE],
      [
        [
          "error",
          {
            error: {
              message: `Not *** of ${STREAMING}.`,
              type: "upstream_error",
              code: "Sensitive",
              param: null,
              upstream_request_id: "upstream-1",
            },
          },
        ],
      ],
      { images: 0, charge: "0", errorCode: "Sensitive" },
    ],
  ])("of %s", async (_what, pieces, events, record) => {
    const source = createScriptedSource(...pieces);
    source.end();
    const { post, records } = openSource(source);
    const { status, headers, text } = await post(REQUEST);
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(parseEvents(text)).toEqual(events);
    expect(records).toMatchObject([record]);
  });

  it("sends each image when it arrives, and ends with the usage although the provider leaves the connection open", async () => {
    const source = createScriptedSource(arkImage(0));
    const { gateway, records } = openSource(source);
    const response = await gateway.fetch(createPost(REQUEST));
    const reader = response.body?.getReader();
    const read = async (): Promise<string> => new TextDecoder().decode((await reader?.read())?.value);
    expect(parseEvents(await read())).toEqual([shown(0)]);
    source.send(arkImage(1) + arkImage(2));
    expect(await read()).toMatch(/\/1\.png",.*\}\n\n/s);
    expect(await read()).toMatch(/\/2\.png",.*"background":"auto"$/);
    source.send(arkCompleted(3));
    expect(await read()).toMatch(/^,"usage":.*\}\n\ndata: \[DONE\]\n\n$/s);
    source.end();
    expect((await reader?.read())?.done).toBe(true);
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 3, charge: "0.3" }]));
  });

  it("ends with an error event if the provider breaks off between two images", async () => {
    const source = createScriptedSource(arkImage(0));
    source.fail(new TransportError("broken", undefined));
    const { post, records } = openSource(source);
    const events = parseEvents((await post(REQUEST)).text);
    expect(events).toMatchObject([shown(0), ["error", { error: { code: "upstream_invalid_response" } }]]);
    expect(records).toMatchObject([{ images: 1, charge: "0.1" }]);
  });

  it("breaks off if the provider's stream ends inside an image, without an error of the connection", async () => {
    const source = createScriptedSource(arkImage(0));
    const { gateway, records } = openSource(source);
    const response = await gateway.fetch(createPost({ model: STREAMING, prompt: "x", n: 2, stream: true }));
    const event = arkEvent("image_generation.partial_succeeded", { b64_json: "A".repeat(100_000) });
    source.send(event.slice(0, 60_000));
    source.end();
    await expect(response.text()).rejects.toThrow("broken");
    expect(records).toMatchObject([{ images: 1, charge: "0.1", errorCode: "upstream_invalid_response" }]);
  });

  it.each([
    ["before all images", [arkCompleted(2), arkImage(0), arkImage(1)], [0, 1]],
    ["between two images", [arkImage(0), arkCompleted(2), arkImage(1)], [0, 1]],
    ["before an image that it does not report", [arkImage(0), arkCompleted(1), arkImage(1)], [0]],
  ])("ends once if the usage comes %s", async (_when, texts, images) => {
    const source = createScriptedSource(...texts);
    source.end();
    const { post } = openSource(source);
    const events = parseEvents((await post({ model: STREAMING, prompt: "x", n: 2, stream: true })).text);
    expect(events.map(([name]) => name).filter((name) => name === COMPLETED)).toHaveLength(images.length);
    expect(events.findIndex(([, data]) => data === "[DONE]")).toBe(events.length - 1);
    expect(JSON.stringify(events)).toMatch(/"usage":\{[^}]*"generated_images"/);
  });

  it.each([
    ["all of its images", 1],
    ["fewer images than it reports", 2],
  ])("ends in order if the connection breaks after the usage and %s", async (_which, reported) => {
    const source = createScriptedSource(arkImage(0), arkCompleted(reported));
    const { gateway, records } = openSource(source);
    const response = await gateway.fetch(createPost({ model: STREAMING, prompt: "x", n: 2, stream: true }));
    source.fail(new TransportError("broken", undefined));
    const events = parseEvents(await response.text());
    expect(events.at(-1)).toEqual(DONE);
    expect(JSON.stringify(events)).toMatch(/"usage":\{[^}]*"generated_images"/);
    expect(records).toMatchObject([{ usage: { generated_images: reported } }]);
  });

  it("breaks off if the provider breaks off inside an image", async () => {
    const source = createScriptedSource(arkImage(0));
    source.send(`data: {"type":"image_generation.partial_succeeded","b64_json":"${"A".repeat(20_000)}`);
    source.fail(new TransportError("broken", undefined));
    const { gateway, records } = openSource(source);
    const response = await gateway.fetch(createPost(REQUEST));
    await expect(response.text()).rejects.toThrow(Error);
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 1, charge: "0.1" }]));
  });

  it.each<[string, (source: ScriptedSource) => void]>([
    ["the provider closes its connection in the middle of an image", (source) => source.end()],
    ["the rest of an image is not JSON", (source) => source.send('"]\n\n')],
  ])("breaks off if %s", async (_what, go) => {
    const source = createScriptedSource(arkImage(0));
    source.send(`data: {"type":"image_generation.partial_succeeded","b64_json":"${"A".repeat(20_000)}`);
    go(source);
    const { gateway, records } = openSource(source);
    const response = await gateway.fetch(createPost(REQUEST));
    await expect(response.text()).rejects.toThrow(Error);
    const record = { charge: "0.1", errorCode: "upstream_invalid_response" };
    await vi.waitFor(() => expect(records).toMatchObject([record]));
  });

  it("is complete with the usage if the provider breaks off after it", async () => {
    const source = createScriptedSource(arkImage(0) + arkImage(1) + arkCompleted(3));
    source.fail(new TransportError("broken", undefined));
    const { post, records } = openSource(source);
    const usage = { ...USAGE_OF_TWO[1], usage: usageOf(3) };
    expect(parseEvents((await post(REQUEST)).text)).toEqual([shown(0), shown(1), [USAGE, usage], DONE]);
    expect(records).toMatchObject([{ images: 2, charge: "0.3" }]);
  });

  it("sends nothing after its end", async () => {
    const source = createScriptedSource(arkImage(0) + arkCompleted(1));
    source.send(arkImage(1) + ARK_DONE);
    source.end();
    const { post } = openSource(source);
    const { text } = await post({ ...REQUEST, n: 1 });
    expect(parseEvents(text)).toEqual([shown(0, { usage: usageOf(1) }), DONE]);
  });

  it("is charged in full if the client leaves", async () => {
    const source = createScriptedSource(arkImage(0));
    const { gateway, records } = openSource(source);
    const response = await gateway.fetch(createPost(REQUEST));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    source.send(arkImage(1) + arkImage(2) + arkCompleted(3));
    source.end();
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 3, charge: "0.3" }]));
  });

  it("sends heartbeats that clients ignore, also inside the event that waits for the usage", async () => {
    const source = createScriptedSource(arkImage(0) + arkImage(1));
    const { gateway } = openSource(source, { heartbeatSeconds: 0.02 });
    const response = await gateway.fetch(createPost(REQUEST));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (end: RegExp): Promise<void> => {
      while (!end.test(text)) text += (await reader?.read())?.value ?? "";
    };
    await readUntil(/: keep-alive\n\n$/);
    source.send(arkImage(2));
    await readUntil(/"background":"auto" {2}$/);
    source.send(arkCompleted(3));
    source.end();
    await readUntil(/\[DONE\]\n\n$/);
    const events = parseEvents(text.replaceAll(": keep-alive\n\n", ""));
    expect(events).toEqual([shown(0), shown(1), shown(2, { usage: usageOf(3) }), DONE]);
  });

  it("is the provider's own on the native endpoint", async () => {
    const pieces = [arkImage(0), arkCompleted(1), ARK_DONE];
    const source = createScriptedSource(...pieces);
    source.end();
    const { postNative } = openSource(source);
    expect((await postNative({ ...REQUEST, n: undefined })).text).toBe(pieces.join(""));
  });

  it("replaces the native format only if the caller, the model or the gateway says so", async () => {
    const pieces = [arkImage(0), arkCompleted(1), ARK_DONE];
    const source = createScriptedSource(...pieces);
    source.end();
    const { post } = openSource(source, { streamFormat: undefined });
    expect((await post(REQUEST)).text).toBe(pieces.join(""));
  });
});

const arkJson = (items: readonly object[], usage: object | undefined = usageInJson(items.length)): string =>
  JSON.stringify({ model: "ep-1", created: CREATED, data: items, usage });
const usageInJson = (images: number): object => ({
  generated_images: images,
  output_tokens: images * 100,
  total_tokens: images * 100 + 30,
});
const link = (index: number): object => ({ url: `https://ark.test/${index}.png`, size: "2048x2048" });
const LONG = `/9j/${"A".repeat(200_000)}`;

/** A JSON response in chunks. */
const respondJson = (text: string): Response =>
  new Response(ReadableStream.from(cut(encoder.encode(text))), {
    headers: { "content-type": "application/json" },
  });

function* cut(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 10_000) yield bytes.slice(start, start + 10_000);
}

describe("a stream in OpenAI's format that the gateway makes from JSON", () => {
  it.each<[string, object, string, readonly unknown[]]>([
    [
      "one image of a model that does not stream",
      { model: SINGLE },
      arkJson([link(0)]),
      [shown(0, { usage: usageOf(1) }), DONE],
    ],
    [
      "several images although a stream was requested",
      { model: STREAMING, n: 3 },
      arkJson([link(0), { error: { code: "Sensitive", message: "No." } }, link(2)], usageInJson(2)),
      [
        shown(0),
        shown(2, { usage: usageOf(2), extra: { errors: [{ index: 1, code: "Sensitive", message: "No." }] } }),
        DONE,
      ],
    ],
    [
      "long base64, with white space between the members",
      { model: SINGLE, response_format: "b64_json" },
      JSON.stringify(JSON.parse(arkJson([{ b64_json: LONG, size: "2048x2048" }])), null, 2),
      [
        [
          COMPLETED,
          {
            ...NOT_STATED,
            type: COMPLETED,
            created_at: CREATED,
            b64_json: LONG,
            size: "2048x2048",
            output_format: "jpeg",
            usage: usageOf(1),
          },
        ],
        DONE,
      ],
    ],
    [
      "several long images and a failure of the rest",
      { model: STREAMING, n: 3, response_format: "b64_json" },
      JSON.stringify({
        created: CREATED,
        data: [
          { b64_json: LONG, size: "1x1" },
          { b64_json: LONG, size: "1x2" },
        ],
        error: { code: "Internal", message: "The rest failed." },
        usage: usageInJson(2),
      }),
      [
        [
          COMPLETED,
          {
            ...NOT_STATED,
            type: COMPLETED,
            created_at: CREATED,
            b64_json: LONG,
            size: "1x1",
            output_format: "jpeg",
          },
        ],
        [
          COMPLETED,
          {
            ...NOT_STATED,
            type: COMPLETED,
            created_at: CREATED,
            b64_json: LONG,
            size: "1x2",
            output_format: "jpeg",
            usage: usageOf(2),
            extra: { errors: [{ index: 2, code: "Internal", message: "The rest failed." }] },
          },
        ],
        DONE,
      ],
    ],
  ])("of %s", async (_what, fields, text, events) => {
    const { post, records } = open(() => respondJson(text));
    const response = await post({ prompt: "a fox", stream: true, ...fields });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(parseEvents(response.text)).toEqual(events);
    const images = events.filter((event) => (event as Event)[0] === COMPLETED).length;
    expect(records).toMatchObject([{ images, charge: `0.${images}` }]);
  });

  it("has this format also if the provider sends events that were not requested", async () => {
    const { post } = open(
      () =>
        new Response(arkImage(0) + arkCompleted(1) + ARK_DONE, {
          headers: { "content-type": "text/event-stream" },
        }),
    );
    const response = await post({ model: STREAMING, prompt: "a fox" });
    expect(parseEvents(response.text)).toEqual([shown(0, { usage: usageOf(1) }), DONE]);
    expect(response.text).not.toContain("ep-1");
  });

  it("does not send the field stream to a model that does not stream", async () => {
    const { post, calls } = open(() => respondJson(arkJson([link(0)])));
    await post({ model: SINGLE, prompt: "a fox", stream: true, partial_images: 2 });
    expect(calls[0]?.body).not.toHaveProperty("stream");
    expect(calls[0]?.body).not.toHaveProperty("partial_images");
  });

  it("is an HTTP error if there is no image", async () => {
    const { post, records } = open(() =>
      respondJson(arkJson([{ error: { code: "Sensitive", message: "No." } }], {})),
    );
    const response = await post({ model: SINGLE, prompt: "a fox", stream: true });
    expect(response).toMatchObject({ status: 502, body: { error: { code: "Sensitive" } } });
    expect(records).toMatchObject([{ charge: "0" }]);
  });

  it("breaks off inside an image, and charges nothing for incomplete JSON", async () => {
    const text = arkJson([{ b64_json: LONG, size: "1x1" }]);
    const { gateway, records } = open(
      () =>
        new Response(ReadableStream.from(breakOff(encoder.encode(text.slice(0, 120_000)))), {
          headers: { "content-type": "application/json" },
        }),
    );
    const response = await gateway.fetch(createPost({ model: SINGLE, prompt: "a fox", stream: true }));
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow(Error);
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 0, charge: "0" }]));
  });

  it("is refused in the native format", async () => {
    const { post } = open(() => respondJson(arkJson([link(0)])), { streamFormat: "native" });
    expect(await post({ model: SINGLE, prompt: "a fox", stream: true })).toMatchObject({
      status: 400,
      body: refusal("stream"),
    });
  });

  it("cannot be replayed for an idempotency key", async () => {
    const { post } = open(() => respondJson(arkJson([link(0)])));
    const request = { model: SINGLE, prompt: "a fox", stream: true };
    expect((await post(request, { "idempotency-key": "k" })).status).toBe(200);
    expect(await post(request, { "idempotency-key": "k" })).toMatchObject({
      status: 409,
      body: { error: { code: "idempotency_not_replayable" } },
    });
  });
});

/** Two images of DashScope, whose links are served by `files`. */
const dashScope =
  (count: number, files: (url: string) => Response): Provider =>
  ({ url }) => {
    if (!url.includes("multimodal-generation")) return files(url);
    const content = Array.from({ length: count }, (_, index) => ({
      image: `https://dashscope.test/${index}.png`,
    }));
    return Response.json({
      ...DASHSCOPE_RESPONSE,
      output: { choices: [{ message: { role: "assistant", content } }] },
      usage: { image_count: count },
    });
  };
const PNG = Uint8Array.from([
  0x89,
  0x50,
  0x4e,
  0x47,
  0x0d,
  0x0a,
  0x1a,
  0x0a,
  ...Array.from({ length: 100_000 }, (_, index) => index % 251),
]);

const respondHalf = (): Response => new Response(ReadableStream.from(breakOff(PNG.subarray(0, 50_000))));

/** Bytes whose connection breaks after them. */
async function* breakOff(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
  throw new Error("reset");
}

describe("a stream in OpenAI's format of links that become base64", () => {
  const request = { model: QWEN, prompt: "a fox", n: 2, stream: true, response_format: "b64_json" };

  it("has the whole image", async () => {
    const { post, records } = open(dashScope(2, () => new Response(ReadableStream.from(cut(PNG)))));
    const events = parseEvents((await post(request)).text);
    const b64_json = Buffer.from(PNG).toString("base64");
    expect(events).toMatchObject([
      [COMPLETED, { b64_json, output_format: "png" }],
      [COMPLETED, { b64_json, output_format: "png", usage: { generated_images: 2 } }],
      DONE,
    ]);
    expect(events[0]?.[1]).not.toHaveProperty("url");
    expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("keeps an image as a link that cannot be downloaded", async () => {
    const { post, records } = open(
      dashScope(2, (url) => (url.includes("/0.") ? new Response(null, { status: 404 }) : new Response(PNG))),
    );
    const events = parseEvents((await post(request)).text);
    expect(events).toMatchObject([
      [COMPLETED, { url: "https://dashscope.test/0.png" }],
      [COMPLETED, { output_format: "png", extra: { errors: [{ index: 0, code: "image_download_failed" }] } }],
      DONE,
    ]);
    expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("breaks off with the download of an image, which is charged", async () => {
    const onError = vi.fn<(event: FailureEvent) => void>();
    const { gateway, records } = open(
      dashScope(
        2,
        (url) =>
          new Response(url.includes("/1.") ? ReadableStream.from(breakOff(PNG.subarray(0, 5_000))) : PNG),
      ),
      { onError },
    );
    const response = await gateway.fetch(createPost(request));
    await expect(response.text()).rejects.toThrow(Error);
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2, charge: "0.2" }]));
    expect(onError).toHaveBeenCalledOnce();
  });
});

describe("a stream in OpenAI's format while a link is downloaded", () => {
  /** One image per call, so two images take two calls. */
  const SEVERAL = { model: "image-plus", prompt: "a fox", n: 2, stream: true, response_format: "b64_json" };
  const ONE_CALL = { ...SEVERAL, model: QWEN };
  const models = { "image-*": { family: "qwen-image" } } as const;

  it.each([
    ["several calls", SEVERAL],
    ["one call", ONE_CALL],
  ])("breaks off with the download, and charges the images (%s)", async (_what, request) => {
    const { gateway, records } = open(dashScope(request === SEVERAL ? 1 : 2, respondHalf), { models });
    const response = await gateway.fetch(createPost(request));
    await expect(response.text()).rejects.toThrow(Error);
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2, charge: "0.2" }]));
  });

  it.each([
    ["several calls", SEVERAL],
    ["one call", ONE_CALL],
  ])("sends no heartbeats inside the base64, and others before it (%s)", async (_what, request) => {
    const source = createScriptedSource();
    const transport = slowDownloads(request === SEVERAL ? 1 : 2, source);
    const { gateway } = open(() => new Response(), { models, heartbeatSeconds: 0.02 }, { transport });
    const response = await gateway.fetch(createPost({ ...request, n: 1 }));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (end: RegExp): Promise<void> => {
      while (!end.test(text)) text += (await reader?.read())?.value ?? "";
    };
    await readUntil(/ {2}$/);
    source.send(PNG.subarray(0, 30_000));
    await readUntil(/[^ ]$/);
    await new Promise((resolve) => setTimeout(resolve, 60));
    source.send(PNG.subarray(30_000));
    source.end();
    await readUntil(/\[DONE\]\n\n$/);
    const [image] = parseEvents(text.replaceAll(": keep-alive\n\n", ""));
    expect(image?.[1]).toMatchObject({ b64_json: Buffer.from(PNG).toString("base64") });
  });

  it.each([
    ["several calls", SEVERAL],
    ["one call", ONE_CALL],
  ])("ends the download if the client leaves, and charges the images (%s)", async (_what, request) => {
    const source = createScriptedSource();
    source.send(PNG.subarray(0, 30_000));
    const transport = slowDownloads(request === SEVERAL ? 1 : 2, source);
    const { gateway, records } = open(() => new Response(), { models }, { transport });
    const response = await gateway.fetch(createPost(request));
    const reader = response.body?.getReader();
    while (new TextDecoder().decode((await reader?.read())?.value).length < 20_000);
    await reader?.cancel();
    await vi.waitFor(() => expect(records).toMatchObject([{ status: 200, images: 2, charge: "0.2" }]));
    expect(records[0]).not.toHaveProperty("errorCode");
    await vi.waitFor(() => expect(source.isEnded()).toBe(true));
  });
});

/** DashScope, whose links all give the bytes of one source. */
function slowDownloads(images: number, source: ScriptedSource): Transport {
  const content = Array.from({ length: images }, () => ({ image: "https://dashscope.test/0.png" }));
  const text = JSON.stringify({
    ...DASHSCOPE_RESPONSE,
    output: { choices: [{ message: { role: "assistant", content } }] },
    usage: { image_count: images },
  });
  const cancel = (): void => source.fail(new TransportError("broken", undefined));
  const headers = new Headers({ "content-type": "application/json" });
  return {
    send: async () => ({ status: 200, headers, body: ReadableStream.from([encoder.encode(text)]), cancel }),
    download: async () => ({ status: 200, headers: new Headers(), body: source.body, cancel }),
    close: async () => {},
  };
}

describe("a stream in OpenAI's format of JSON that breaks off after an image", () => {
  it.each([
    ["one call", STREAMING, 1],
    ["several calls", SINGLE, 2],
  ])("charges the image (%s)", async (_what, model, n) => {
    const text = arkJson([{ b64_json: LONG, size: "1x1" }]);
    const cutAfterImage = text.slice(0, text.indexOf(',"usage"'));
    const { post, records } = open(
      () =>
        new Response(ReadableStream.from(breakOff(encoder.encode(cutAfterImage))), {
          headers: { "content-type": "application/json" },
        }),
    );
    const events = parseEvents((await post({ model, prompt: "a fox", n, stream: true })).text);
    expect(events.filter(([name]) => name === COMPLETED)).toHaveLength(n);
    expect(records).toMatchObject([{ images: n, charge: `0.${n}` }]);
  });
});

describe("a stream in OpenAI's format of several upstream calls", () => {
  const request = { model: SINGLE, prompt: "a fox", n: 3, stream: true };

  it("ends with an error that is logged if the family fails", async () => {
    const family: Family = {
      ...seedream,
      name: "own",
      raiseSeed(fields, index) {
        if (index === 4) throw new TypeError("No seed.");
        return fields;
      },
    };
    let made = 0;
    const { gateway, logs } = open(
      async () => {
        const index = made++;
        await pause(5 * index);
        return index === 0
          ? respondJson(arkJson([link(0)]))
          : Response.json({ error: { code: "Sensitive", message: "No." } }, { status: 400 });
      },
      {
        models: { own: { family: "own", capabilities: { imagesPerCall: 1 } } },
        families: [family],
        channels: [{ id: "ark", family: "own", apiKey: ARK_KEY }],
      },
    );
    const response = await gateway.fetch(createPost({ ...request, model: "own", n: 6 }));
    expect(await response.text()).toContain("internal_error");
    expect(logs).toMatchObject([{ level: "error", fields: { err: { message: "No seed." } } }]);
    await gateway.close();
  });

  it("sends each image when its call has a response, and the usage of all with the last", async () => {
    const releases: (() => void)[] = [];
    let made = 0;
    const { gateway, records } = open(async () => {
      const index = made++;
      await new Promise<void>((resolve) => {
        releases[index] = resolve;
      });
      return respondJson(arkJson([link(index)]));
    });
    const responding = gateway.fetch(createPost(request));
    await vi.waitFor(() => expect(releases).toHaveLength(3));
    releases[2]?.();
    const response = await responding;
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (part: RegExp): Promise<void> => {
      while (!part.test(text)) text += (await reader?.read())?.value ?? "";
    };
    await readUntil(/\/2\.png",.*\}\n\n/s);
    releases[0]?.();
    await readUntil(/\/0\.png",.*\}\n\n/s);
    releases[1]?.();
    await readUntil(/\[DONE\]\n\n/);
    const usage = {
      ...usageOf(3),
      total_tokens: 390,
      input_tokens: 90,
      input_tokens_details: { text_tokens: 90, image_tokens: 0 },
    };
    expect(parseEvents(text)).toEqual([shown(2), shown(0), shown(1, { usage }), DONE]);
    expect(records).toMatchObject([{ images: 3, charge: "0.3" }]);
  });

  it("lists the calls without an image", async () => {
    let made = 0;
    const { post, records } = open(() =>
      made++ === 1
        ? Response.json({ error: { code: "Sensitive", message: "No." } }, { status: 400 })
        : respondJson(arkJson([link(0)])),
    );
    const events = parseEvents((await post(request)).text);
    expect(events).toHaveLength(3);
    expect(events[1]?.[1]).toMatchObject({
      extra: { errors: [{ index: 1, code: "Sensitive", message: "No." }] },
    });
    expect(records).toMatchObject([{ images: 2, charge: "0.2" }]);
  });

  it("is an HTTP error if no call makes an image", async () => {
    const { post, records } = open(() =>
      Response.json({ error: { code: "Sensitive", message: "No." } }, { status: 400 }),
    );
    expect(await post(request)).toMatchObject({ status: 400, body: { error: { code: "Sensitive" } } });
    expect(records).toMatchObject([{ images: 0, charge: "0" }]);
  });

  it("passes long images on, and breaks off if one of them does", async () => {
    let made = 0;
    const long = arkJson([{ b64_json: LONG, size: "1x1" }]);
    const { gateway, records } = open(() =>
      made++ === 1
        ? new Response(ReadableStream.from(breakOff(encoder.encode(long.slice(0, 120_000)))), {
            headers: { "content-type": "application/json" },
          })
        : respondJson(long),
    );
    const response = await gateway.fetch(createPost(request));
    await expect(response.text()).rejects.toThrow(Error);
    // The response that broke off is not charged, and the others are.
    await vi.waitFor(() => expect(records).toMatchObject([{ images: 2, charge: "0.2" }]));
  });

  it("settles what was sent if the client leaves, and sends no further call", async () => {
    let made = 0;
    const { gateway, records, calls } = open(async () => {
      made++;
      return respondJson(arkJson([link(made)]));
    });
    const response = await gateway.fetch(createPost({ ...request, n: 10 }));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(records).toHaveLength(1));
    expect(calls.length).toBeLessThan(10);
    expect(records).toMatchObject([{ images: calls.length }]);
  });
});

describe("a gateway that closes while the last bytes of a provider arrive", () => {
  const [JSON_TYPE, EVENTS] = ["application/json", "text/event-stream"];
  const json = arkJson([link(0)]);
  const largeJson = arkJson([{ b64_json: LONG, size: "1x1" }]);
  const events = arkImage(0) + arkCompleted(1);

  it.each<[string, string, string, Partial<GatewayOptions>, object]>([
    ["JSON", json, JSON_TYPE, {}, { model: STREAMING }],
    ["long JSON", largeJson, JSON_TYPE, {}, { model: STREAMING }],
    ["a native stream", events, EVENTS, { streamFormat: "native" }, { model: STREAMING, stream: true }],
    ["a stream in OpenAI's format", events, EVENTS, {}, { model: STREAMING, stream: true }],
    ["such a stream of JSON", json, JSON_TYPE, {}, { model: SINGLE, stream: true }],
    ["such a stream of long JSON", largeJson, JSON_TYPE, {}, { model: SINGLE, stream: true }],
    ["such a stream of several calls", json, JSON_TYPE, {}, { model: SINGLE, stream: true, n: 2 }],
  ])(
    "gives no complete response that is not charged: %s",
    async (_what, text, contentType, options, body) => {
      const source = createScriptedSource(text.slice(0, -20));
      const transport = createTransport(source, contentType);
      const { gateway, records } = open(() => new Response(), options, { transport });
      const reading = gateway
        .fetch(createPost({ prompt: "a fox", ...body }))
        .then(async (response) => `${response.status} ${await response.text()}`)
        .catch(() => "reset");
      await vi.waitFor(() => expect(source.asked()).toBeGreaterThan(1));
      await gateway.close({ deadlineSeconds: 0 });
      source.send(text.slice(-20));
      source.end();
      expect(await reading).toMatch(/^reset$|^502|\nevent: error\n/);
      expect(records).toEqual([]);
    },
  );
});
