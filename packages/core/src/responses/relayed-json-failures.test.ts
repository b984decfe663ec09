import { describe, expect, it } from "vitest";
import type { Family } from "../families/family.js";
import { seedream } from "../families/index.js";
import type { ResponseShape } from "../families/response-shape.js";
import {
  imageBase64,
  type LargeGateway,
  largeResponse,
  openLarge,
  readUntilBreak,
} from "../testing/large-responses.js";
import { createScriptedSource, endedSource } from "../testing/scripted-source.js";
import { ARK_KEY } from "../testing/test-gateway.js";

const TEXT = largeResponse({ data: [70_000, 60_000].map((bytes) => ({ b64_json: imageBase64(bytes) })) });
const FAILED = { error: { code: "OutputImageSensitiveContentDetected", message: "No." } };
const FAILURE = { code: "InternalServiceError", message: `It broke, with ${ARK_KEY}.` };
/** 700 items that failed, more than a megabyte of them. */
const ALL_FAILED = largeResponse({
  data: Array.from({ length: 700 }, () => ({ error: { ...FAILED.error, message: "n".repeat(1_500) } })),
  usage: undefined,
});

const upstreamError = (code: string): object => ({
  status: 502,
  body: { error: { code, type: "upstream_error" } },
});
const INVALID = "upstream_invalid_response";

describe("a large response without an image", () => {
  it.each([
    ["whose items all failed", ALL_FAILED, "OutputImageSensitiveContentDetected"],
    ["that has no items", largeResponse({ data: [], trace: "t".repeat(200_000) }), "upstream_no_image"],
    ["whose items are not a list", largeResponse({ data: imageBase64(200_000) }), "upstream_no_image"],
    [
      "that reports a failure",
      largeResponse({ error: FAILURE, data: [], trace: "t".repeat(200_000) }),
      FAILURE.code,
    ],
  ])("%s is a 502 on /v1, and is relayed unchanged on the native endpoint", async (_what, text, code) => {
    const { ask, askNative, records } = openLarge({ body: text });
    const response = await ask();
    const native = await askNative();

    expect(response).toMatchObject(upstreamError(code));
    expect(response.text).not.toContain(ARK_KEY);
    expect(native.status).toBe(200);
    expect(native.text).toBe(text.replaceAll(ARK_KEY, "***"));
    expect(records).toMatchObject([
      { status: 502, errorCode: code, images: 0 },
      { status: 200, errorCode: code, images: 0 },
    ]);
    expect(records[0]?.charge).toBe(records[1]?.charge);
  });

  it("is charged for the report after its failure", async () => {
    const text = `{"error":${JSON.stringify(FAILURE)},"trace":"${"t".repeat(300_000)}","usage":{"generated_images":2}}`;
    const { ask, records } = openLarge({ body: text });
    expect(await ask()).toMatchObject(upstreamError(FAILURE.code));
    expect(records).toMatchObject([{ charge: "0.2", images: 0, errorCode: FAILURE.code }]);
  });

  it("is an error also if there are images after its failure", async () => {
    const { ask, records } = openLarge({
      body: largeResponse({ model: undefined }).replace("{", `{"error":${JSON.stringify(FAILURE)},`),
    });
    expect(await ask()).toMatchObject(upstreamError(FAILURE.code));
    expect(records).toMatchObject([{ status: 502, charge: "0.2", images: 0 }]);
  });

  it.each([
    ["HTML", `<!doctype html>${"<p>Busy.</p>".repeat(100_000)}`],
    ["a list", `[${"1,".repeat(500_000)}1]`],
    ["a text", JSON.stringify("x".repeat(1_000_000))],
    ["white space", " ".repeat(1_000_000)],
    ["a head that is cut", `{"trace":"${"t".repeat(1_000_000)}`],
  ])("that is %s is a 502, and counts against the channel", async (_what, text) => {
    const { gateway, ask, askNative, records } = openLarge({ body: text });
    for (const response of [await ask(), await askNative()])
      expect(response).toMatchObject(upstreamError(INVALID));
    expect(records).toMatchObject([
      { status: 502, charge: "0", errorCode: INVALID },
      { status: 502, charge: "0", errorCode: INVALID },
    ]);
    await ask();
    expect(gateway.status()).toMatchObject({ channels: [{ state: "cooling", reason: "broken" }, {}] });
  });

  it("that is larger than the limit is a 502, and is not read to its end", async () => {
    const source = createScriptedSource(`{"trace":"${"t".repeat(100_000)}`, "t".repeat(100_000));
    const { ask, gateway, records } = openLarge({
      body: source.body,
      options: { maxUpstreamResponseBytes: 150_000 },
    });
    expect(await ask()).toMatchObject({
      ...upstreamError(INVALID),
      body: { error: { message: "The provider's response is larger than 150000 bytes." } },
    });
    expect(records).toMatchObject([{ status: 502, charge: "0" }]);
    expect(gateway.status()).toMatchObject({ channels: [{ state: "ready" }, {}] });
  });
});

/** How a response that has begun ends before its end: its text, and whether the connection breaks. */
const BREAKS: readonly (readonly [string, string, "breaks" | "ends"])[] = [
  ["breaks off in the middle of an image", TEXT.slice(0, 80_000), "breaks"],
  ["ends in the middle of an image", TEXT.slice(0, 80_000), "ends"],
  ["breaks off between two items", TEXT.slice(0, TEXT.indexOf("},{") + 1), "breaks"],
  ["breaks off behind its items", TEXT.slice(0, TEXT.indexOf(',"usage"')), "breaks"],
  ["ends behind its items", TEXT.slice(0, TEXT.indexOf(',"usage"')), "ends"],
  ["goes on as something else", `${TEXT.slice(0, 80_000)}"}} <html>`, "ends"],
];

async function breakOff(text: string, end: "breaks" | "ends", path: "/v1" | "native") {
  const source = createScriptedSource(text.slice(0, 70_000), text.slice(70_000));
  if (end === "ends") source.end();
  else source.fail(new Error("reset"));
  const gateway = openLarge({ body: source.body });
  const response = await gateway.begin(path);
  return { ...gateway, source, response, ...(await readUntilBreak(response)) };
}

describe.each(["/v1", "native"] as const)("a large response that has begun, on %s, and", (path) => {
  it.each(BREAKS)(
    "%s: breaks off for the client too, costs nothing and counts against the channel",
    async (_what, text, end) => {
      const {
        gateway,
        response,
        text: got,
        brokeOff,
        begin,
        records,
        source,
      } = await breakOff(text, end, path);

      expect(response.status).toBe(200);
      expect(brokeOff).toBe(true);
      expect(() => JSON.parse(got)).toThrow(SyntaxError);
      expect(records).toMatchObject([
        { status: 200, images: 0, charge: "0", errorCode: INVALID, upstreamRequestId: "upstream-1" },
      ]);
      expect(await gateway.usage.balance("me")).toEqual({ settled: "0", held: "0" });
      expect(source.isEnded()).toBe(true);
      // The source was read completely. Now nothing more arrives.
      for (const _ of [1, 2]) await readUntilBreak(await begin(path));
      expect(gateway.status()).toMatchObject({ channels: [{ state: "cooling", reason: "broken" }, {}] });
    },
  );

  it("goes silent breaks off once that has lasted too long", async () => {
    const source = createScriptedSource(TEXT.slice(0, 80_000));
    const { begin, records } = openLarge({ body: source.body });
    const { brokeOff } = await readUntilBreak(await begin(path));
    expect(brokeOff).toBe(true);
    expect(records).toMatchObject([{ status: 200, images: 0, charge: "0", errorCode: "upstream_timeout" }]);
  });

  it("becomes larger than may be read breaks off, which is not the channel's fault", async () => {
    const source = createScriptedSource(TEXT.slice(0, 80_000), "A".repeat(100_000), "A".repeat(100_000));
    const { begin, gateway, records } = openLarge({
      body: source.body,
      options: { maxUpstreamResponseBytes: 150_000 },
    });
    const { brokeOff, text } = await readUntilBreak(await begin(path));
    expect(brokeOff).toBe(true);
    expect(text.length).toBeLessThan(150_000);
    expect(records).toMatchObject([{ charge: "0", errorCode: INVALID }]);
    expect(gateway.status()).toMatchObject({ channels: [{ state: "ready" }, {}] });
  });

  it("has junk after its end breaks off, and is charged for what was reported", async () => {
    const { brokeOff, records } = await breakOff(`${TEXT} x`, "ends", path);
    expect(brokeOff).toBe(true);
    expect(records).toMatchObject([{ images: 0, charge: "0.2", errorCode: INVALID }]);
  });

  it("is left by its client and then breaks off costs nothing", async () => {
    const source = createScriptedSource(TEXT.slice(0, 80_000));
    const { begin, records } = openLarge({ body: source.body });
    await (await begin(path)).body?.cancel();
    source.fail(new Error("reset"));
    await expect.poll(() => records).toMatchObject([{ images: 0, charge: "0", errorCode: INVALID }]);
  });

  it("is cut off by a gateway that ends is booked as lost, once", async () => {
    const source = createScriptedSource(TEXT.slice(0, 80_000));
    const { gateway, begin, records, unresolved } = openLarge({ body: source.body });
    const reading = readUntilBreak(await begin(path));
    await gateway.close({ deadlineSeconds: 0.05 });
    source.fail(new Error("closed"));
    expect((await reading).brokeOff).toBe(true);
    expect(records).toEqual([]);
    expect(unresolved).toMatchObject([{ state: "unresolved", charge: "0" }]);
  });
});

describe("a large response that reports a failure after its images", () => {
  const text = largeResponse({ error: FAILURE, trace: "t".repeat(100_000), usage: undefined }).replace(
    /}$/,
    ',"usage":{"generated_images":2}}',
  );

  it("breaks off on /v1, and is charged for the report after it", async () => {
    const { begin, gateway, records } = openLarge({ body: text });
    const { brokeOff } = await readUntilBreak(await begin());
    expect(brokeOff).toBe(true);
    expect(records).toMatchObject([{ status: 200, images: 0, charge: "0.2", errorCode: FAILURE.code }]);
    expect(gateway.status()).toMatchObject({ channels: [{ state: "ready" }, {}] });
  });

  it("is relayed on the native endpoint, without the key, and its record has the failure", async () => {
    const { askNative, records } = openLarge({ body: text });
    expect((await askNative()).text).toBe(text.replaceAll(ARK_KEY, "***"));
    expect(records).toMatchObject([{ status: 200, images: 2, charge: "0.2", errorCode: FAILURE.code }]);
  });
});

function fail(): never {
  throw new Error("a mistake");
}

/** Seedream with a defect in its reader of responses. */
function misread(shape: Partial<ResponseShape>): Family {
  const { responseShape } = seedream;
  return {
    ...seedream,
    name: "broken",
    ...(responseShape && { responseShape: { ...responseShape, ...shape } }),
  };
}

function openMisread(shape: Partial<ResponseShape>): LargeGateway {
  return openLarge({
    body: endedSource(TEXT.slice(0, 70_000), TEXT.slice(70_000)).body,
    options: {
      families: [misread(shape)],
      models: { relayed: { family: "broken" } },
      channels: [{ id: "broken", family: "broken", apiKey: ARK_KEY }],
    },
  });
}

describe("a family that returns an incomplete result for a short response", () => {
  it("is a 500 that is logged, and the call is settled", async () => {
    const { ask, records, logs } = openLarge({
      body: '{"data":[{"url":"https://ark.test/1.png"}]}',
      options: {
        families: [
          {
            ...seedream,
            name: "broken",
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- A family in JavaScript may return anything.
            fromUpstream: () => ({ images: [{ url: "https://ark.test/1.png" }], fields: {} }) as never,
          },
        ],
        models: { relayed: { family: "broken" } },
        channels: [{ id: "broken", family: "broken", apiKey: ARK_KEY }],
      },
    });
    expect(await ask()).toMatchObject({ status: 500, body: { error: { code: "internal_error" } } });
    expect(records).toMatchObject([{ errorCode: "internal_error", images: 0 }]);
    expect(logs).not.toEqual([]);
  });
});

describe("a family that fails to read a large response", () => {
  it("is a 500 that is logged, before there is an image", async () => {
    const { ask, records, logs } = openMisread({ readCreated: fail });
    expect(await ask()).toMatchObject({ status: 500, body: { error: { code: "internal_error" } } });
    expect(records).toMatchObject([{ errorCode: "internal_error", charge: "0" }]);
    expect(logs).toMatchObject([
      { level: "error", message: "A provider's response could not be read." },
      { level: "warn", message: "A channel failed.", fields: { reason: "broken" } },
    ]);
  });

  it("breaks it off after that", async () => {
    const { begin, records, logs } = openMisread({ readUsage: fail });
    expect((await readUntilBreak(await begin())).brokeOff).toBe(true);
    expect(records).toMatchObject([{ errorCode: "internal_error", charge: "0" }]);
    expect(logs).toMatchObject([
      { level: "error", message: "A provider's response could not be read." },
      { level: "warn", message: "A channel failed.", fields: { reason: "broken" } },
    ]);
  });
});
