import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ModelDetails } from "../billing/model-details.js";
import type { FailureEvent } from "../events.js";
import { type StreamReader, seedream } from "../families/index.js";
import type { GatewayOptions } from "../gateway-options/options.js";
import type { Dependencies } from "../kernel/kernel-parts.js";
import { createScriptedSource, endedSource, type ScriptedSource } from "../testing/scripted-source.js";
import { serve } from "../testing/start-server.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  createPost,
  createTestGateway,
  type TestGateway,
} from "../testing/test-gateway.js";
import { type Transport, TransportError } from "../upstream/transport.js";
import { createTransport } from "../upstream/transport-node.js";

const encoder = new TextEncoder();
const MODEL = "seedream-4-5-251128";
const REQUEST = { model: MODEL, prompt: "three cats", n: 3, stream: true };

const toEvent = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify({ type: event, model: "ep-1", created: 1_763_683_200, ...data })}\n\n`;
const image = (index: number, size = "2048x2048"): string =>
  toEvent("image_generation.partial_succeeded", {
    image_index: index,
    url: `https://ark.test/${index}.png`,
    size,
  });
const failedImage = toEvent("image_generation.partial_failed", {
  image_index: 1,
  error: { code: "OutputImageSensitiveContentDetected", message: "No." },
});
const completed = (usage: object | undefined): string => toEvent("image_generation.completed", { usage });
const usageOf = (images: number, tokens: number): object => ({
  generated_images: images,
  output_tokens: tokens,
  total_tokens: tokens,
});
const FAILURE = `event: error\ndata: {"error":{"code":"InternalServiceError","message":"It broke."}}\n\n`;
const DONE = "data: [DONE]\n\n";

const BY_REQUEST = { pricing_mode: "per-request", model_price: "0.04" } as const;
const BY_TOKEN = { pricing_mode: "per-token", output_token_price: "10" } as const;

/** Two models, one of them priced as asked. */
function pricedAt(price: ModelDetails): Pick<GatewayOptions, "models" | "billing"> {
  return {
    models: { [MODEL]: { family: "seedream" }, "image-max": { family: "qwen-image" } },
    billing: { model_details: { [MODEL]: price, "image-max": BY_REQUEST } },
  };
}

interface StreamGateway extends TestGateway {
  /** Asks for the stream; the response's body is not read. */
  readonly ask: (body?: object, host?: Parameters<TestGateway["gateway"]["fetch"]>[1]) => Promise<Response>;
}

/** A gateway whose provider responds with the source's events. */
function startGateway(
  source: ScriptedSource,
  options: Partial<GatewayOptions> & { readonly dependencies?: Partial<Dependencies> } = {},
): StreamGateway {
  const { dependencies, ...rest } = options;
  const transport: Transport = {
    send: async () => ({
      status: 200,
      headers: new Headers({ "content-type": "text/event-stream", "x-request-id": "upstream-1" }),
      body: source.body,
      cancel: () => source.fail(new TransportError("broken", undefined)),
    }),
    download: () => Promise.reject(new TransportError("unreachable", undefined)),
    close: async () => {},
  };
  const test = createTestGateway(
    undefined,
    { ...pricedAt(BY_REQUEST), ...rest },
    { transport, ...dependencies },
  );
  return { ...test, ask: (body = REQUEST, host = {}) => test.gateway.fetch(createPost(body), host) };
}

describe("a stream without an image", () => {
  it.each<[string, readonly string[], string, string]>([
    ["only failed images", [failedImage, completed({}), DONE], "OutputImageSensitiveContentDetected", "No."],
    ["only [DONE]", [DONE], "upstream_no_image", "The provider responded without an image."],
    ["nothing", [], "upstream_no_image", "The provider responded without an image."],
    ["comments alone", [": hello\n\n"], "upstream_no_image", "The provider responded without an image."],
  ])("of %s is logged for the operator, and relayed unchanged", async (_what, pieces, code, message) => {
    const source = createScriptedSource(...pieces);
    source.end();
    const onError = vi.fn<(event: FailureEvent) => void>();
    const { ask, records } = startGateway(source, { onError });
    expect(await (await ask()).text()).toBe(pieces.join(""));
    expect(records).toMatchObject([{ status: 200, images: 0, errorCode: code, charge: "0" }]);
    expect(onError).toHaveBeenCalledOnce();
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ error: { message } });
  });

  it("that reports an error and then breaks off counts as one failure, and keeps the provider's code", async () => {
    const overloaded = `event: error\ndata: {"error":{"code":"ServerOverloaded","message":"Busy."}}\n\n`;
    const source = createScriptedSource(overloaded);
    source.fail(new TransportError("broken", undefined));
    const { ask, logs, records } = startGateway(source);
    await (await ask()).text();
    expect(logs).toMatchObject([
      { message: "A channel failed.", fields: { reason: "overload", code: "ServerOverloaded" } },
    ]);
    expect(records).toMatchObject([{ attempts: [{ status: 200, code: "ServerOverloaded" }] }]);
  });

  it("quotes no key of ours", async () => {
    const source = createScriptedSource(failedImage.replace("No.", `No: ${ARK_KEY}`));
    source.end();
    const onError = vi.fn<(event: FailureEvent) => void>();
    await (await startGateway(source, { onError }).ask()).text();
    expect(JSON.stringify(onError.mock.calls)).not.toContain(ARK_KEY);
    expect(onError.mock.calls[0]?.[0]).toMatchObject({ error: { message: "No: ***" } });
  });
});

describe("the charge of a stream", () => {
  const CUT = new TransportError("broken", undefined);

  it.each<[string, readonly string[], TransportError | "end", string, string, object]>([
    [
      "completed",
      [image(0), image(1), completed(usageOf(2, 32_768)), DONE],
      "end",
      "0.08",
      "0.32768",
      { images: 2 },
    ],
    [
      "completed, no [DONE]",
      [image(0), completed(usageOf(1, 16_384))],
      "end",
      "0.04",
      "0.16384",
      { images: 1 },
    ],
    [
      "completed, then cut off",
      [image(0), completed(usageOf(1, 16_384))],
      CUT,
      "0.04",
      "0.16384",
      { images: 1, errorCode: "upstream_invalid_response" },
    ],
    [
      "completed counts another number",
      [image(0), completed(usageOf(3, 49_152))],
      "end",
      "0.12",
      "0.49152",
      { images: 1 },
    ],
    [
      "completed with no image made",
      [failedImage, completed(usageOf(0, 0))],
      "end",
      "0",
      "0",
      { images: 0, errorCode: "OutputImageSensitiveContentDetected" },
    ],
    [
      "completed without a count, and no image made",
      [failedImage, completed({ output_tokens: 0, total_tokens: 0 })],
      "end",
      "0",
      "0",
      { images: 0, errorCode: "OutputImageSensitiveContentDetected" },
    ],
    [
      "an image that is reported twice, and no completed",
      [image(0), image(0)],
      "end",
      "0.04",
      "0.16384",
      { images: 1 },
    ],
    [
      "completed without usage",
      [image(0), image(1), completed(undefined), DONE],
      "end",
      "0.04",
      "0",
      { images: 2 },
    ],
    [
      "completed without generated_images",
      [image(0), completed({ output_tokens: 16_384 })],
      "end",
      "0.04",
      "0.16384",
      { images: 1 },
    ],
    [
      "two completed",
      [image(0), completed(usageOf(1, 16_384)), completed(usageOf(1, 16_384))],
      "end",
      "0.04",
      "0.16384",
      { images: 1 },
    ],
    ["one image and no completed", [image(0)], "end", "0.04", "0.16384", { images: 1 }],
    [
      "three images and no completed",
      [image(0), image(1, "1024x1024"), image(2, "1664x928")],
      "end",
      "0.12",
      "0.26512",
      { images: 3 },
    ],
    [
      "an image, a failed one, and no completed",
      [image(0), failedImage],
      "end",
      "0.04",
      "0.16384",
      { images: 1 },
    ],
    [
      "a failed image alone",
      [failedImage],
      "end",
      "0",
      "0",
      { images: 0, errorCode: "OutputImageSensitiveContentDetected" },
    ],
    [
      "an error before any image",
      [FAILURE],
      "end",
      "0",
      "0",
      { images: 0, errorCode: "InternalServiceError" },
    ],
    [
      "an error after an image",
      [image(0), FAILURE],
      "end",
      "0.04",
      "0.16384",
      { images: 1, errorCode: "InternalServiceError" },
    ],
    ["nothing", [], "end", "0", "0", { images: 0, errorCode: "upstream_no_image" }],
    ["[DONE] alone", [DONE], "end", "0", "0", { images: 0, errorCode: "upstream_no_image" }],
    [
      "cut off before the first byte",
      [],
      CUT,
      "0",
      "0",
      { images: 0, errorCode: "upstream_invalid_response" },
    ],
    [
      "cut off between events",
      [image(0)],
      CUT,
      "0.04",
      "0.16384",
      { images: 1, errorCode: "upstream_invalid_response" },
    ],
    [
      "cut off inside an event",
      [image(0), image(1).slice(0, -1)],
      CUT,
      "0.04",
      "0.16384",
      { images: 1, errorCode: "upstream_invalid_response" },
    ],
    [
      "timed out",
      [image(0)],
      new TransportError("timeout", undefined),
      "0.04",
      "0.16384",
      { images: 1, errorCode: "upstream_timeout" },
    ],
  ])("%s", async (_what, pieces, ending, perRequest, perToken, expected) => {
    for (const [price, charge] of [
      [BY_REQUEST, perRequest],
      [BY_TOKEN, perToken],
    ] as const) {
      const source = createScriptedSource(...pieces);
      if (ending === "end") source.end();
      else source.fail(ending);
      const { ask, records } = startGateway(source, pricedAt(price));
      await (await ask()).text().catch(() => undefined);
      expect(records).toHaveLength(1);
      expect({ errorCode: "none", ...records[0] }).toMatchObject({
        errorCode: "none",
        status: 200,
        operation: "generate",
        model: MODEL,
        channel: "ark",
        upstreamRequestId: "upstream-1",
        charge,
        ...expected,
      });
    }
  });

  it("is marked unpriced if the price is by token and `completed` reports no tokens", async () => {
    const source = endedSource(image(0), completed({ generated_images: 1 }));
    const { ask, records, logs } = startGateway(source, pricedAt(BY_TOKEN));
    await (await ask()).text();
    expect(records).toMatchObject([{ charge: "0", unpriced: true }]);
    expect(logs).toMatchObject([{ level: "warn" }]);
  });

  it("is logged with the id that the client got", async () => {
    const { ask, records } = startGateway(endedSource(image(0)), {
      dependencies: { createId: () => "req_7" },
    });
    const response = await ask();
    await response.text();
    expect(response.headers.get("x-request-id")).toBe("req_7");
    expect(records).toMatchObject([{ id: "req_7" }]);
  });

  it("never shows a key that the provider quotes as a code", async () => {
    const { ask, records } = startGateway(endedSource(FAILURE.replace("InternalServiceError", ARK_KEY)));
    await (await ask()).text();
    expect(JSON.stringify(records)).not.toContain(ARK_KEY);
    expect(records).toMatchObject([{ errorCode: "***" }]);
  });
});

describe("the response of a stream", () => {
  it("is the provider's own bytes under headers that keep proxies from holding them back", async () => {
    const text = `${image(0)}event: image_generation.partial_image\r\ndata: {}\r\n\r\n${completed(usageOf(1, 1))}${DONE}`;
    const { ask } = startGateway(endedSource(text));
    const response = await ask({ ...REQUEST, user: "u" });
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-calotype-ignored": "user",
      "x-request-id": expect.stringMatching(/^req_/),
    });
    expect(await response.text()).toBe(text);
  });

  it("shows the first image while the second is made", async () => {
    const source = createScriptedSource(image(0));
    const { ask } = startGateway(source);
    const reader = (await ask()).body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toBe(image(0));
    source.send(image(1));
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(image(1));
    source.end();
    expect(await reader?.read()).toMatchObject({ done: true });
  });

  it.each([
    [
      "cut off",
      new TransportError("broken", undefined),
      "upstream_invalid_response",
      "The provider's response broke off.",
    ],
    [
      "stalled",
      new TransportError("timeout", undefined),
      "upstream_timeout",
      "The provider did not respond in time.",
    ],
  ])(
    "ends with an error event if the provider's stream is %s between events",
    async (_how, error, code, message) => {
      const source = createScriptedSource(image(0));
      source.fail(error);
      const { ask } = startGateway(source);
      const text = await (await ask()).text();
      expect(text.startsWith(image(0))).toBe(true);
      const [, data = ""] = /^event: error\ndata: (.+)\n\n$/.exec(text.slice(image(0).length)) ?? [];
      expect(JSON.parse(data)).toEqual({
        error: {
          message,
          type: "upstream_error",
          code,
          param: null,
          upstream_request_id: expect.any(String),
        },
      });
    },
  );

  it("breaks off if the provider's stream breaks off inside an event", async () => {
    const source = createScriptedSource(image(0).slice(0, -1));
    source.fail(new TransportError("broken", undefined));
    const { ask } = startGateway(source);
    const response = await ask();
    await expect(response.text()).rejects.toMatchObject({ name: "TransportError", reason: "broken" });
  });

  it("has comments during silence only if the operator set `heartbeatSeconds`", async () => {
    const quiet = createScriptedSource();
    const { ask } = startGateway(quiet, { heartbeatSeconds: 0.02 });
    const reader = (await ask()).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(": keep-alive\n\n");
    quiet.end();

    const silent = createScriptedSource();
    const chunk = (await startGateway(silent).ask()).body?.getReader().read();
    expect(await Promise.race([chunk, pause(60, "silence")])).toBe("silence");
    silent.end();
  });

  it("is given for the native endpoint as it is", async () => {
    const { gateway, records } = startGateway(endedSource(image(0), DONE));
    const post = createPost({ ...REQUEST, n: 2 });
    const response = await gateway.fetch(new Request(post.url.replace("/v1/", "/api/v3/"), post));
    expect(await response.text()).toBe(image(0) + DONE);
    expect(response.headers.get("x-calotype-ignored")).toBe("n");
    expect(records).toMatchObject([{ operation: "native", charge: "0.04" }]);
  });
});

describe("a client that leaves a stream", () => {
  it.each([
    ["before the first byte", 0, [image(0), image(1), completed(usageOf(2, 32_768))], "0.08", 2],
    ["in mid-stream", 1, [image(1), completed(usageOf(2, 32_768))], "0.08", 2],
    ["in mid-stream of one that never completes", 1, [image(1)], "0.08", 2],
  ])("%s is charged for all that the provider makes", async (_when, reads, rest, charge, images) => {
    const source = createScriptedSource(...(reads > 0 ? [image(0)] : []));
    const { ask, records } = startGateway(source);
    const reader = (await ask()).body?.getReader();
    for (let index = 0; index < reads; index++) await reader?.read();
    await reader?.cancel();
    expect(records).toEqual([]);
    for (const piece of rest) source.send(piece);
    source.end();
    await vi.waitFor(() => expect(records).toHaveLength(1));
    expect(records[0]).toMatchObject({ charge, images, status: 200 });
    expect(records[0]).not.toHaveProperty("errorCode");
  });

  it("after the last byte is charged once", async () => {
    const { ask, records } = startGateway(endedSource(image(0), completed(usageOf(1, 16_384))));
    const reader = (await ask()).body?.getReader();
    for (let index = 0; index < 2; index++) await reader?.read();
    await reader?.cancel();
    await vi.waitFor(() => expect(records).toHaveLength(1));
    await pause(5);
    expect(records).toMatchObject([{ charge: "0.04" }]);
  });

  it("whose rest breaks off is charged for the images that arrived", async () => {
    const source = createScriptedSource();
    const { ask, records } = startGateway(source);
    await (await ask()).body?.cancel();
    source.send(image(0));
    source.fail(new TransportError("broken", undefined));
    await vi.waitFor(() => expect(records).toHaveLength(1));
    expect(records[0]).toMatchObject({ charge: "0.04", errorCode: "upstream_invalid_response" });
  });
});

describe("gateway.close()", () => {
  it("waits for a stream that is relayed", async () => {
    const source = createScriptedSource(image(0));
    const { gateway, ask, records } = startGateway(source);
    const text = (await ask()).text();
    const closed = gateway.close().then(() => records.length);
    expect(await Promise.race([closed, pause(20, "waits")])).toBe("waits");
    source.end();
    await text;
    expect(await closed).toBe(1);
  });

  it("waits for a stream that is read on after its client left", async () => {
    const source = createScriptedSource(image(0));
    const { gateway, ask, records } = startGateway(source);
    await (await ask()).body?.cancel();
    const closed = gateway.close().then(() => records.length);
    expect(await Promise.race([closed, pause(20, "waits")])).toBe("waits");
    source.end();
    expect(await closed).toBe(1);
  });

  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("A fault of the family.");
      },
    ],
    ["gives nothing", () => undefined],
  ])("does not wait for ever for a stream whose reader %s, and records it", async (_what, result) => {
    const reader = { read: () => {}, result: result as StreamReader["result"] };
    const family = { ...seedream, name: "mine", readStream: () => reader };
    const { gateway, ask, records, logs } = startGateway(endedSource(image(0)), {
      families: [family],
      models: { [MODEL]: { family: "mine" } },
      billing: { model_details: { [MODEL]: BY_REQUEST } },
      channels: [{ id: "ark", family: "mine", apiKey: ARK_KEY }],
    });
    expect(await (await ask()).text()).toBe(image(0));
    await gateway.close();
    expect(records).toMatchObject([{ status: 200, errorCode: "internal_error", images: 0, charge: "0" }]);
    expect(logs).toMatchObject([{ level: "error", message: "The reader of a stream failed." }]);
  });
});

describe("a host that stops with its response", () => {
  it("is asked to wait until a stream is settled, even if the client has disconnected", async () => {
    const source = createScriptedSource(image(0));
    const { ask, records } = startGateway(source);
    const works: Promise<unknown>[] = [];
    const response = await ask(REQUEST, { waitUntil: (work) => void works.push(work) });
    await response.body?.cancel();
    const settled = Promise.all(works).then(() => records.length);
    expect(works.length).toBeGreaterThan(0);
    expect(await Promise.race([settled, pause(20, "waits")])).toBe("waits");
    source.end();
    expect(await settled).toBe(1);
  });
});

describe("a response of another kind than was requested", () => {
  const arkUsage = { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 };

  it.each(["/v1/images/generations", "/api/v3/images/generations"])(
    "JSON for a stream on %s is served as JSON and charged once",
    async (path) => {
      const { gateway, records } = createTestGateway(undefined, pricedAt(BY_REQUEST));
      const post = createPost(REQUEST);
      const response = await gateway.fetch(new Request(`http://gateway.test${path}`, post));
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toMatchObject({ data: ARK_RESPONSE.data });
      expect(records).toMatchObject([{ charge: "0.04", usage: arkUsage }]);
    },
  );

  it.each(["text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream"])(
    "a stream of type %s for JSON is served as a stream and charged once",
    async (type) => {
      const text = image(0) + completed(arkUsage) + DONE;
      const { gateway, records } = createTestGateway(
        () => new Response(text, { headers: { "content-type": type } }),
        pricedAt(BY_REQUEST),
      );
      const response = await gateway.fetch(createPost({ model: MODEL, prompt: "x" }));
      expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      expect(await response.text()).toBe(text);
      expect(records).toMatchObject([{ charge: "0.04", usage: arkUsage }]);
    },
  );

  it.each(["application/json", "text/plain", "application/octet-stream", ""])(
    "events of type %j are relayed as they arrive, and charged once",
    async (type) => {
      const events = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
      const stream = new ReadableStream<Uint8Array>({ start: (controller) => events.resolve(controller) });
      const headers = { "content-type": type, "content-encoding": "gzip" };
      const { gateway, records } = createTestGateway(
        () => new Response(stream, { headers }),
        pricedAt(BY_REQUEST),
      );
      const answering = gateway.fetch(createPost(REQUEST));
      const source = await events.promise;
      source.enqueue(encoder.encode("ev"));
      source.enqueue(encoder.encode(image(0).slice(2)));
      const response = await answering;
      expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
      const reader = response.body?.getReader();
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("ev");
      expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(image(0).slice(2));
      source.enqueue(encoder.encode(completed(arkUsage)));
      source.close();
      while ((await reader?.read())?.done === false);
      expect(records).toMatchObject([{ charge: "0.04", usage: arkUsage, images: 1 }]);
    },
  );

  it.each(["\uFEFF", "", " \r\n"])(
    "JSON after %j that is labelled as events is relayed unchanged and charged once, with any chunks",
    async (before) => {
      const text = before + JSON.stringify(ARK_RESPONSE);
      for (let cut = 1; cut < text.length; cut++) {
        const source = createScriptedSource(text.slice(0, cut), text.slice(cut));
        source.end();
        const { ask, records } = startGateway(source, pricedAt(BY_TOKEN));
        expect(Buffer.from(await (await ask()).arrayBuffer()).toString()).toBe(text);
        expect(records).toMatchObject([{ charge: "0.16384", usage: arkUsage, images: 1, status: 200 }]);
      }
    },
  );

  it("JSON that is labelled as events and breaks off is logged, and no event or comment is added", async () => {
    const text = JSON.stringify(ARK_RESPONSE, null, 1).slice(0, 200);
    const source = createScriptedSource(`${text}\n\n`);
    const { ask, records } = startGateway(source, { ...pricedAt(BY_REQUEST), heartbeatSeconds: 0.01 });
    const reader = (await ask()).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe(`${text}\n\n`);
    const next = reader?.read();
    await pause(50);
    source.fail(new TransportError("broken", undefined));
    await expect(next).rejects.toThrow("broken");
    expect(records).toMatchObject([{ charge: "0", images: 0, errorCode: "upstream_invalid_response" }]);
  });

  it("JSON that `fetch` has decompressed is relayed, although the header is still there", async () => {
    const { gateway, records } = createTestGateway(
      () => Response.json(ARK_RESPONSE, { headers: { "content-encoding": "gzip" } }),
      pricedAt(BY_REQUEST),
    );
    const response = await gateway.fetch(createPost({ model: MODEL, prompt: "x" }));
    expect(await response.json()).toMatchObject({ data: ARK_RESPONSE.data });
    expect(records).toMatchObject([{ charge: "0.04" }]);
  });

  it("a compressed stream is refused before anything is relayed, and is not read", async () => {
    let signal: AbortSignal | null | undefined;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Uint8Array.of(0x1f, 0x8b, 8, 0)),
    });
    const headers = {
      "content-type": "text/event-stream",
      "content-encoding": "GZIP",
      "x-request-id": "u-1",
    };
    const { gateway, records } = createTestGateway(undefined, {
      ...pricedAt(BY_REQUEST),
      fetch: async (_url, init) => {
        signal = init.signal;
        return new Response(body, { headers });
      },
      billing: { model_details: { [MODEL]: BY_REQUEST, "image-max": BY_REQUEST }, onLost: "charge" },
    });
    const response = await gateway.fetch(createPost(REQUEST));
    expect(response.status).toBe(502);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(await response.json()).toMatchObject({
      error: {
        code: "upstream_invalid_response",
        message: "The provider's response has the content coding gzip, which was not requested.",
        upstream_request_id: "u-1",
      },
    });
    expect(records).toMatchObject([
      { charge: "0.12", images: 0, derivation: { count: 3, count_source: "request" } },
    ]);
    expect(signal?.aborted).toBe(true);
  });

  it("a stream of a family that has none is an error, charged nothing, and not read on", async () => {
    const source = createScriptedSource(": hello\n\n");
    const { ask, records } = startGateway(source);
    const response = await ask({ model: "image-max", prompt: "x" });
    expect(response.status).toBe(502);
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(await response.json()).toMatchObject({
      error: { type: "upstream_error", code: "upstream_invalid_response" },
    });
    expect(records).toMatchObject([{ charge: "0", status: 502, errorCode: "upstream_invalid_response" }]);
    expect(source.asked()).toBe(1);
  });

  it.each([
    [400, { error: { code: "InvalidParameter", message: "No." } }, 400],
    [500, { error: { code: "InternalServiceError", message: "No." } }, 502],
  ])("a refusal of %i before the stream begins is an HTTP error", async (status, body, answered) => {
    const { post, records } = createTestGateway(() => Response.json(body, { status }), pricedAt(BY_REQUEST));
    const response = await post(REQUEST);
    expect(response.status).toBe(answered);
    expect(response.body).toMatchObject({ error: { code: body.error.code } });
    expect(records).toMatchObject([{ charge: "0" }]);
  });
});

describe("a provider that stops in mid-stream, over fetch", () => {
  it("is given up after the idle time: the client gets an error, and what arrived is charged", async () => {
    const cancelled = vi.fn<() => void>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(image(0))),
      cancel: cancelled,
    });
    const { gateway, records } = createTestGateway(
      () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
      {
        ...pricedAt(BY_REQUEST),
        channels: [
          { id: "ark", family: "seedream", apiKey: ARK_KEY, timeouts: { idleSeconds: 0.04 } },
          { id: "bailian", family: "qwen-image", apiKey: ARK_KEY },
        ],
      },
    );
    const text = await (await gateway.fetch(createPost(REQUEST))).text();
    expect(text).toContain('"code":"upstream_timeout"');
    expect(records).toMatchObject([{ charge: "0.04", errorCode: "upstream_timeout" }]);
    expect(cancelled).toHaveBeenCalledTimes(1);
  });

  it("is read no faster than the client reads", async () => {
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          pulled++;
          controller.enqueue(new TextEncoder().encode(image(pulled)));
        },
      },
      { highWaterMark: 0 },
    );
    const { gateway } = createTestGateway(
      () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
    );
    const reader = (await gateway.fetch(createPost(REQUEST))).body?.getReader();
    await pause(20);
    expect(pulled).toBeLessThanOrEqual(2);
    for (let index = 0; index < 5; index++) await reader?.read();
    await pause(20);
    expect(pulled).toBeLessThanOrEqual(7);
    expect(pulled).toBeGreaterThanOrEqual(5);
  });
});

/** A gateway on Node's own transport, in front of a provider that responds as the test writes. */
async function start(write: (response: ServerResponse) => void, idleMs = 5_000) {
  const closed = Promise.withResolvers<void>();
  const server = await serve((request, response) => {
    request.resume();
    response.on("close", closed.resolve);
    response.writeHead(200, { "content-type": "text/event-stream" });
    write(response);
  });
  const channel = {
    id: "ark",
    family: "seedream",
    apiKey: ARK_KEY,
    baseUrl: `${server.url}/api/v3`,
    timeouts: { idleSeconds: idleMs / 1000 },
  };
  const test = createTestGateway(
    undefined,
    {
      ...pricedAt(BY_REQUEST),
      fetch: undefined,
      channels: [
        channel,
        { id: "bailian", family: "qwen-image", apiKey: ARK_KEY, baseUrl: `${server.url}/api/v1` },
      ],
    },
    { transport: createTransport() },
  );
  onTestFinished(() => test.gateway.close());
  return {
    ...test,
    ask: (body: object = REQUEST) => test.gateway.fetch(createPost(body)),
    closed: closed.promise,
  };
}

describe("a stream over sockets", () => {
  it("arrives complete", async () => {
    const text = image(0) + image(1) + completed(usageOf(2, 32_768)) + DONE;
    const { ask, records } = await start((response) => response.end(text));
    expect(await (await ask()).text()).toBe(text);
    expect(records).toMatchObject([{ charge: "0.08", images: 2 }]);
  });

  it("that is cut between events ends with an error event", async () => {
    const { ask, records } = await start((response) => response.write(image(0), () => response.destroy()));
    expect(await (await ask()).text()).toMatch(
      /\n\nevent: error\ndata: \{"error":.*"upstream_invalid_response".*\}\n\n$/,
    );
    expect(records).toMatchObject([{ charge: "0.04", errorCode: "upstream_invalid_response" }]);
  });

  it("that is cut inside an event breaks off", async () => {
    const { ask, records } = await start((response) =>
      response.write(image(0).slice(0, -2), () => response.destroy()),
    );
    const response = await ask();
    await expect(response.text()).rejects.toMatchObject({ name: "TransportError", reason: "broken" });
    expect(records).toMatchObject([{ charge: "0", errorCode: "upstream_invalid_response" }]);
  });

  it("that stalls is given up after the idle time, and its connection with it", async () => {
    const { ask, records, closed } = await start((response) => response.write(image(0)), 50);
    expect(await (await ask()).text()).toContain('"code":"upstream_timeout"');
    expect(records).toMatchObject([{ charge: "0.04", errorCode: "upstream_timeout" }]);
    await closed;
  });

  it("is read to its end after its client left", async () => {
    const { ask, records } = await start((response) => {
      response.write(image(0));
      setTimeout(() => response.end(image(1) + completed(usageOf(2, 32_768))), 60);
    });
    const reader = (await ask()).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    expect(records).toEqual([]);
    await vi.waitFor(() => expect(records).toMatchObject([{ charge: "0.08", images: 2 }]));
  });

  it("that cannot be read is given up at once, together with its connection", async () => {
    const { ask, records, closed } = await start((response) => response.write(image(0)));
    expect((await ask({ model: "image-max", prompt: "x" })).status).toBe(502);
    await closed;
    expect(records).toMatchObject([{ charge: "0", status: 502 }]);
  });
});
