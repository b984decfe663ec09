import { describe, expect, it } from "vitest";
import { startCpuClock } from "./testing/cpu-clock.js";
import { createTestGateway } from "./testing/test-gateway.js";

const A = '"model":"seedream-4-0-250828","prompt":"x"';
const B = '"model":"image-2.0","prompt":"x"';
const CONTENT = (content: string): string =>
  `{${B},"input":{"messages":[{"role":"user","content":${content}}]}}`;
const repeat = (text: string, count: number): string => text.repeat(count);

describe("a hostile body", () => {
  it.each<[string, () => string | Uint8Array, number]>([
    ["a million numbers for image", () => `{${A},"image":[${repeat("1,", 1_000_000)}1]}`, 400],
    ["a hundred thousand numbers for image", () => `{${A},"image":[${repeat("1,", 99_000)}1]}`, 400],
    ["a hundred thousand empty images", () => `{${A},"image":[${repeat('"",', 99_000)}""]}`, 400],
    ["a hundred thousand links", () => `{${A},"image":[${repeat('"http://x",', 99_000)}"http://x"]}`, 400],
    ["a hundred thousand content items", () => CONTENT(`[${repeat("1,", 99_000)}1]`), 400],
    [
      "a hundred thousand good content items",
      () => CONTENT(`[${repeat('{"image":"http://x"},', 40_000)}{"text":"x"}]`),
      400,
    ],
    ["a hundred thousand messages", () => `{${B},"input":{"messages":[${repeat("1,", 99_000)}1]}}`, 400],
    ["ten million brackets", () => repeat("[", 10_000_000), 400],
    ["five million nested lists", () => `{${A},"x":${repeat("[", 5_000_000)}${repeat("]", 5_000_000)}}`, 400],
    ["five million objects", () => `{${A},"x":[${repeat("{},", 5_000_000)}1]}`, 400],
    ["33 levels", () => `{${A},"x":${repeat("[", 32)}${repeat("]", 32)}}`, 400],
    ["32 levels", () => `{${A},"x":${repeat("[", 31)}${repeat("]", 31)}}`, 200],
    [
      "thousands of unknown fields",
      () => `{${A}${Array.from({ length: 5_000 }, (_, index) => `,"k${index}":0`).join("")}}`,
      400,
    ],
    [
      "thousands of unknown fields of family B",
      () => `{${B}${Array.from({ length: 5_000 }, (_, index) => `,"k${index}":0`).join("")}}`,
      400,
    ],
    ["a prompt of 10 MB", () => `{${A.replace('"x"', `"${repeat("p", 10_000_000)}"`)}}`, 200],
    ["a prompt of 10 MB of escapes", () => `{${A.replace('"x"', `"${repeat("\\u0041", 1_700_000)}"`)}}`, 200],
    ["a key of 10 MB", () => `{${A},"${repeat("k", 10_000_000)}":1}`, 200],
    ["a key of 10 MB twice", () => `{"${repeat("k", 5_000_000)}":1,"${repeat("k", 5_000_000)}":1}`, 400],
    ["a model name of 10 MB", () => `{"model":"${repeat("m", 10_000_000)}","prompt":"x"}`, 404],
    ["a size of 10 MB", () => `{${A},"size":"${repeat("9", 5_000_000)}x${repeat("9", 5_000_000)}"}`, 400],
    ["a size of 10 MB of x", () => `{${A},"size":"${repeat("x", 10_000_000)}"}`, 400],
    ["a shorthand size of 10 MB", () => `{${B},"size":"${repeat("9", 10_000_000)}"}`, 400],
    ["a response format of 10 MB", () => `{${A},"response_format":"${repeat("u", 10_000_000)}"}`, 400],
    ["a number of a million digits", () => `{${A},"n":${repeat("9", 1_000_000)}}`, 400],
    ["a seed beyond all", () => `{${A},"seed":1e999}`, 400],
    ["a scale beyond all", () => `{${A},"guidance_scale":-1e999}`, 400],
    ["a scale of many digits", () => `{${A},"guidance_scale":0.${repeat("1", 1_000_000)}}`, 400],
    ["a scale of some digits", () => `{${A},"guidance_scale":0.${repeat("1", 900)}}`, 200],
    ["-0", () => `{${A},"n":-0}`, 200],
    [
      "lone surrogates everywhere",
      () => `{${A.replace('"x"', '"\\ud800"')},"\\udfff":"\\ud83d","size":null}`,
      200,
    ],
    ["a lone surrogate for a model", () => '{"model":"\\ud800","prompt":"x"}', 404],
    ["zero bytes", () => `{${A.replace('"x"', '"\\u0000"')},"\\u0000":"\\u0000"}`, 200],
    ["a raw zero byte", () => `{${A},"x":"\u0000"}`, 400],
    [
      "prototype fields",
      () => `{${A},"__proto__":{"a":1},"constructor":{"prototype":{"a":1}},"prototype":1}`,
      200,
    ],
    [
      "prototype fields for options",
      () => `{${A},"sequential_image_generation_options":{"__proto__":{"max_images":99},"constructor":1}}`,
      200,
    ],
    ["toJSON for a field", () => `{${A},"toJSON":1,"x":{"toJSON":"x"}}`, 200],
    ["then for a field", () => `{${A},"then":1,"x":{"then":{}}}`, 200],
    ["bytes of every kind", () => Uint8Array.from({ length: 256 }, (_, index) => index), 400],
  ])("with %s gets its status, soon", async (_what, build, status) => {
    const { post } = createTestGateway();
    const sent = build();
    const cpuMs = startCpuClock();
    const response = await post(sent);
    expect(response.status).toBe(status);
    expect(cpuMs()).toBeLessThan(3_000);
    expect(response.text.length).toBeLessThan(5_000);
    expect({}).not.toHaveProperty("a");
  });

  it("puts no line end and no foreign header into x-calotype-ignored", async () => {
    const { post } = createTestGateway();
    const names = [
      "a\r\nset-cookie: x=1",
      "b, c",
      "d\u0000",
      "雪",
      "\ud800",
      "x".repeat(1_000),
      "%0d%0a",
      "constructor",
    ];
    const { status, headers } = await post({
      model: "image-2.0",
      prompt: "x",
      ...Object.fromEntries(names.map((name) => [name, 1])),
    });
    expect(status).toBe(200);
    expect(headers.get("set-cookie")).toBeNull();
    expect(headers.get("x-calotype-ignored")).toMatch(/^[\w%!'()*.~-]+(?:, [\w%!'()*.~-]+){7}$/);
  });

  it("names at most twenty ignored fields", async () => {
    const { post } = createTestGateway();
    const fields = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, 1]));
    const { headers } = await post({ model: "image-2.0", prompt: "x", ...fields });
    expect(headers.get("x-calotype-ignored")?.split(", ")).toHaveLength(20);
  });

  it.each(["x-request-id", "x-should-retry", "content-length", "host", "connection", "transfer-encoding"])(
    "in the field %s stays a field",
    async (name) => {
      const { post, calls } = createTestGateway();
      const response = await post({ model: "doodle", prompt: "x", [name]: "evil\r\nx: y" });
      expect(response.status).toBe(200);
      expect(response.headers.get("x-request-id")).toMatch(/^req_/);
      expect(calls[0]?.headers.get(name)).toBeNull();
    },
  );
});

describe("hostile headers", () => {
  it.each<[string, Record<string, string>, number]>([
    ["a key of 100 KB", { authorization: `Bearer ${repeat("k", 100_000)}` }, 401],
    ["a key of spaces", { authorization: `Bearer${repeat(" ", 100_000)}x y` }, 401],
    ["a content type of 100 KB", { "content-type": `application/${repeat("a.", 50_000)}` }, 415],
    ["a content type of plus signs", { "content-type": `application/${repeat("a+", 50_000)}json!` }, 415],
    ["parameters of 100 KB", { "content-type": `application/json;${repeat("charset=utf-8;", 7_000)}` }, 200],
    ["a charset of spaces", { "content-type": `application/json;charset=${repeat(" ", 100_000)}x` }, 200],
    ["a huge content-length", { "content-length": "1e999" }, 413],
    ["a negative content-length", { "content-length": "-1" }, 200],
  ])("with %s get a response soon", async (_what, headers, status) => {
    const { gateway } = createTestGateway();
    const cpuMs = startCpuClock();
    const response = await gateway.handle({
      method: "POST",
      url: "/v1/images/generations",
      headers: new Headers({
        authorization: "Bearer caller-canary-b1946ac9",
        "content-type": "application/json",
        ...headers,
      }),
      body: bytesOf('{"model":"doodle","prompt":"x"}'),
      signal: new AbortController().signal,
    });
    expect(response?.status).toBe(status);
    expect(cpuMs()).toBeLessThan(1_000);
  });
});

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode(text);
}
