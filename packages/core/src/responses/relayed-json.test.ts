import { describe, expect, it } from "vitest";
import type { SettledRecord } from "../billing/records.js";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import { cutEvery } from "../testing/cut-bytes.js";
import { HELD, imageBase64, largeResponse, openLarge, RELAYED } from "../testing/large-responses.js";
import { createScriptedSource } from "../testing/scripted-source.js";
import type { ReadResponse } from "../testing/test-gateway.js";

const IMAGE = { b64_json: imageBase64(), size: "2048x2048" };
const linkTo = (name: string): object => ({ url: `https://ark.test/${name}.png`, size: "2048x2048" });
const FAILED = { error: { code: "OutputImageSensitiveContentDetected", message: "No." } };
const USAGE = { generated_images: 3, output_tokens: 49_152, total_tokens: 49_152 };

const SHAPES: readonly (readonly [string, string])[] = [
  ["one image", largeResponse({ data: [{ b64_json: imageBase64(200_000) }] })],
  ["several images", largeResponse({ data: [IMAGE, IMAGE, IMAGE, IMAGE] })],
  ["images and links", largeResponse({ data: [{ url: "https://ark.test/1.png" }, IMAGE, IMAGE] })],
  ["a failed item before", largeResponse({ data: [FAILED, IMAGE, IMAGE] })],
  ["failed items between", largeResponse({ data: [IMAGE, FAILED, {}, IMAGE] })],
  ["a failed item after", largeResponse({ data: [IMAGE, IMAGE, FAILED] })],
  ["failed items all around", largeResponse({ data: [FAILED, IMAGE, FAILED, IMAGE, null, 5] })],
  ["items with fields of their own", largeResponse({ data: [{ ...IMAGE, seed: 7, "": [{}] }, IMAGE] })],
  ["further members", largeResponse({ tools: [{ type: "web_search" }], note: null, "": 0, deep: [[[{}]]] })],
  ["a further member of a megabyte", largeResponse({ trace: "t".repeat(1_000_000) })],
  ["an `extra` of its own", largeResponse({ extra: { a: 1 } })],
  [
    "an `extra` of its own beside a failed item",
    largeResponse({ extra: { a: 1 }, data: [IMAGE, IMAGE, FAILED] }),
  ],
  ["no model", largeResponse({ model: undefined })],
  ["no time", largeResponse({ created: undefined })],
  ["a time that is not a number", largeResponse({ created: "yesterday" })],
  ["no usage", largeResponse({ usage: undefined })],
  ["an error that is null", largeResponse({ error: null })],
  [
    "unicode",
    largeResponse({
      note: "画一只狐狸 🦊 \u2028 é",
      data: [{ ...IMAGE, prompt: "狐狸 \ud83e\udd8a" }, IMAGE],
    }),
  ],
  [
    "usage before data",
    `{"usage":${JSON.stringify(USAGE)},"data":[${JSON.stringify(IMAGE)},${JSON.stringify(IMAGE)}]}`,
  ],
  ["white space everywhere", JSON.stringify(JSON.parse(largeResponse()), null, "\t \n")],
  [
    "escapes in its names",
    largeResponse()
      .replace('"data"', String.raw`"d\u0061ta"`)
      .replaceAll('"b64_json"', String.raw`"b64\u005fjson"`),
  ],
];

/** The parts of a response that are the same for the same request. A relayed response has no content-length. */
function withoutIds({ status, headers, body }: ReadResponse): object {
  const { "x-request-id": _id, "content-length": _length, ...others } = Object.fromEntries(headers);
  return { status, headers: others, body };
}

/** The fields that are the same in the records of the same response. */
function factsOf(record: SettledRecord | undefined): object {
  const { state, operation, status, images, usage, charge, errorCode, unpriced, upstreamRequestId } =
    record ?? {};
  return { state, operation, status, images, usage, charge, errorCode, unpriced, upstreamRequestId };
}

describe("a large response that is relayed, compared with the same one that is held in memory", () => {
  it.each(SHAPES)("has the same content and costs the same: %s", async (_what, text) => {
    const { ask, records } = openLarge({ body: text, options: { limits: { requestsPerMinute: 50 } } });
    const held = await ask(HELD, { quality: "hd" });
    const relayed = await ask(RELAYED, { quality: "hd" });

    expect(relayed.status).toBe(200);
    expect(Object.fromEntries(relayed.headers)).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-calotype-ignored": "quality",
      "x-request-id": records[1]?.id,
      "ratelimit-policy": held.headers.get("ratelimit-policy"),
      ratelimit: expect.any(String),
    });
    expect(relayed.headers.get("content-length")).toBeNull();
    expect(relayed.body).toEqual({ ...held.body, model: RELAYED });
    expect(factsOf(records[1])).toEqual(factsOf(records[0]));
  });

  it.each(SHAPES)("is the provider's own text on the native endpoint: %s", async (_what, text) => {
    const { askNative, records } = openLarge({ body: text });
    const held = await askNative(HELD);
    const relayed = await askNative();

    expect(relayed.text).toBe(text);
    expect(withoutIds(relayed)).toEqual(withoutIds(held));
    expect(factsOf(records[1])).toEqual(factsOf(records[0]));
  });

  it.each([
    ["links alone", [linkTo("1"), linkTo("2")]],
    ["links among images", [linkTo("1"), IMAGE, linkTo("2"), FAILED, linkTo("3"), IMAGE]],
    ["a link with an empty image beside it", [{ ...linkTo("1"), b64_json: "" }, IMAGE]],
    ["a link that is gone", [IMAGE, FAILED, linkTo("missing")]],
    ["twenty links", Array.from({ length: 20 }, (_, index) => linkTo(String(index)))],
    ["a link with a long text beside it", [{ ...linkTo("1"), prompt: "p".repeat(20_000) }, IMAGE]],
    ["a failed item with a very long message", [IMAGE, { error: { code: "A", message: "m".repeat(8_192) } }]],
  ])("converts its links if base64 was requested: %s", async (_what, data) => {
    const text = largeResponse({ data, trace: "t".repeat(100_000) });
    const { ask, records } = openLarge({ body: text });
    const held = await ask(HELD, { response_format: "b64_json" });
    const relayed = await ask(RELAYED, { response_format: "b64_json" });

    expect(relayed.status).toBe(200);
    expect(relayed.body).toEqual({ ...held.body, model: RELAYED });
    expect(factsOf(records[1])).toEqual(factsOf(records[0]));
    const [first] = Array.isArray(relayed.body["data"]) ? relayed.body["data"] : [];
    expect(first).toMatchObject({ b64_json: expect.any(String) });
  });

  it("leaves links unchanged if links were requested", async () => {
    const text = largeResponse({ data: [linkTo("1")], trace: "t".repeat(100_000) });
    const { ask, calls } = openLarge({ body: text });
    expect((await ask(RELAYED, { response_format: "url" })).body["data"]).toEqual([linkTo("1")]);
    expect(calls).toHaveLength(1);
  });

  it("has the provider's numbers and images unchanged", async () => {
    const text = largeResponse().replace("}]", ',"seed":12345678901234567890,"cost":1.50}]');
    const { text: relayed } = await openLarge({ body: text }).ask();
    expect(relayed).toContain('"seed":12345678901234567890,"cost":1.50}');
    const expected = text
      .replace("ep-20260101-abcde", RELAYED)
      .replace(
        /"usage":.*?\}/,
        '"usage":{"generated_images":2,"output_tokens":1000,"total_tokens":1000,"input_tokens":0,"input_tokens_details":{"text_tokens":0,"image_tokens":0}}',
      );
    expect(relayed).toBe(expected);
  });

  it("is stored for a repeat up to the maximum size", async () => {
    const body = largeResponse();
    const keyed = { "idempotency-key": "7c0ad1f2" };
    const request = { model: RELAYED, prompt: "a fox" };
    const { post, calls } = openLarge({ body });
    const first = await post(request, keyed);
    const repeat = await post(request, keyed);
    expect(repeat.text).toBe(first.text);
    expect(repeat.headers.get("idempotent-replayed")).toBe("true");
    expect(calls).toHaveLength(1);

    const strict = openLarge({ body, options: { idempotency: { maxResponseBytes: 100_000 } } });
    expect((await strict.post(request, keyed)).status).toBe(200);
    expect(await strict.post(request, keyed)).toMatchObject({
      status: 409,
      body: { error: { code: "idempotency_not_replayable" } },
    });
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe("the end of a large response", () => {
  it.each(["/v1", "native"] as const)("ends only when its charge is stored (%s)", async (path) => {
    const ledger = createMemoryLedger();
    const gate = Promise.withResolvers<void>();
    const settling = Promise.withResolvers<void>();
    const { gateway, begin } = openLarge({
      body: largeResponse(),
      options: {
        ledger: {
          ...ledger,
          async settle(record) {
            settling.resolve();
            await gate.promise;
            await ledger.settle(record);
          },
        },
      },
    });
    const response = await begin(path);
    let text = "";
    let hasEnded = false;
    const read = (async () => {
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
      hasEnded = true;
    })();
    await settling.promise;
    await new Promise((resolve) => setTimeout(resolve, 30));

    expect(hasEnded).toBe(false);
    expect(isJson(text)).toBe(false);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0.4" });
    gate.resolve();
    await read;
    expect(JSON.parse(text)).toHaveProperty("data.length", 2);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.2", held: "0" });
  });

  it("ends when a failing ledger finally accepts the charge", async () => {
    const ledger = createMemoryLedger();
    let failures = 2;
    const { gateway, ask } = openLarge({
      body: largeResponse(),
      options: {
        ledger: {
          ...ledger,
          settle: (record) => (failures-- > 0 ? Promise.reject(new Error("no disk")) : ledger.settle(record)),
        },
      },
    });
    expect((await ask()).body).toHaveProperty("data.length", 2);
    expect(await gateway.usage.balance("me")).toEqual({ settled: "0.2", held: "0" });
  });

  it("is waited for by a gateway that closes", async () => {
    const source = createScriptedSource();
    const { gateway, begin, records } = openLarge({ body: source.body });
    const text = largeResponse();
    source.send(text.slice(0, 100_000));
    const response = (await begin()).json();
    const closed = gateway.close();
    source.send(text.slice(100_000));
    source.end();
    await closed;
    expect(records).toMatchObject([{ status: 200, images: 2, charge: "0.2" }]);
    expect(await response).toHaveProperty("data.length", 2);
  });
});

describe("a client that leaves a large response", () => {
  it.each(["before it begins", "in the middle", "by its signal"])(
    "%s is charged for what the provider reports",
    async (when) => {
      const source = createScriptedSource();
      const leaving = new AbortController();
      const { gateway, begin, records } = openLarge({
        body: source.body,
        options: { limits: { concurrent: 1 } },
      });
      const text = largeResponse();
      source.send(text.slice(0, 80_000));
      const response = await begin("/v1", { signal: leaving.signal });
      if (when === "by its signal") leaving.abort();
      else {
        const reader = response.body?.getReader();
        if (when === "in the middle") await reader?.read();
        await reader?.cancel();
      }
      expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0.4" });
      source.send(text.slice(80_000));
      source.end();
      await expect.poll(() => records).toMatchObject([{ status: 200, images: 2, charge: "0.2" }]);
      expect(records[0]).not.toHaveProperty("errorCode");
      expect(await gateway.usage.balance("me")).toEqual({ settled: "0.2", held: "0" });
    },
  );

  it("pays nothing if the provider then sends nothing more", async () => {
    const source = createScriptedSource(largeResponse().slice(0, 80_000));
    const { begin, records } = openLarge({ body: source.body });
    await (await begin()).body?.cancel();
    await expect
      .poll(() => records)
      .toMatchObject([{ status: 200, images: 0, charge: "0", errorCode: "upstream_timeout" }]);
  });
});

describe("a client that reads a large response slowly", () => {
  it("has the provider wait: little more is taken than is read", async () => {
    const text = largeResponse({ data: [{ b64_json: imageBase64(2_000_000) }] });
    const chunks = cutEvery(new TextEncoder().encode(text), 16 * 1024);
    const source = createScriptedSource();
    for (const chunk of chunks) source.send(chunk);
    source.end();
    const { begin, records } = openLarge({ body: source.body });
    const reader = (await begin()).body?.getReader();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = source.asked();
    expect(before).toBeLessThan(12);
    for (let reads = 0; reads < 20; reads++) await reader?.read();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(source.asked() - before).toBeLessThanOrEqual(20);
    expect(records).toEqual([]);

    await reader?.cancel();
    // The rest is read in the background, as fast as it arrives.
    await expect.poll(() => records).toMatchObject([{ images: 1, charge: "0.2" }]);
    expect(source.isEnded()).toBe(true);
  });
});
