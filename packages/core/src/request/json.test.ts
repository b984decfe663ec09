import { describe, expect, it } from "vitest";
import type { GatewayRequest } from "../http.js";
import { readJson } from "./json.js";

interface Sent {
  readonly body?: string | Uint8Array | readonly Uint8Array[] | null;
  readonly headers?: Record<string, string>;
  readonly parsedBody?: unknown;
  readonly bodyConsumed?: boolean;
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

async function* inChunks(chunks: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* chunks;
}

function toRequest({ body = null, headers = {}, ...rest }: Sent): GatewayRequest {
  const chunks = typeof body === "string" ? [encode(body)] : body instanceof Uint8Array ? [body] : body;
  return {
    method: "POST",
    url: "/",
    headers: new Headers({ "content-type": "application/json", ...headers }),
    body: chunks && inChunks(chunks),
    signal: new AbortController().signal,
    ...rest,
  };
}

const read = async (sent: Sent, maxBytes = 1_000_000): Promise<unknown> =>
  readJson(toRequest(sent), maxBytes);

const refused = (status: number, message: RegExp): unknown =>
  expect.objectContaining({ status, message: expect.stringMatching(message) });

async function* broken(): AsyncIterable<Uint8Array> {
  yield encode("{");
  throw new Error("ECONNRESET");
}

describe("readJson accepts", () => {
  const bytes = encode('{"prompt":"雪 😀"}');

  it.each<[string, Sent, unknown]>([
    ["an object", { body: '{"a":1}' }, { a: 1 }],
    ["an object with space around it", { body: ' \n{"a":1}\t' }, { a: 1 }],
    [
      "UTF-8 cut inside a character",
      { body: [bytes.slice(0, 12), bytes.slice(12, 13), bytes.slice(13)] },
      { prompt: "雪 😀" },
    ],
    ["empty chunks", { body: [encode(""), encode("{"), encode(""), encode("}")] }, {}],
    ["a byte order mark", { body: new Uint8Array([0xef, 0xbb, 0xbf, ...encode("{}")]) }, {}],
    ["a replacement character", { body: '{"a":"\ufffd"}' }, { a: "\ufffd" }],
    ["an escaped lone surrogate", { body: '{"a":"\\ud800"}' }, { a: "\ud800" }],
    ["a duplicate key below the top", { body: '{"a":{"b":1,"b":2}}' }, { a: { b: 2 } }],
    ["a body of the declared length", { body: "{}", headers: { "content-length": "2" } }, {}],
    ["a junk content-length", { body: "{}", headers: { "content-length": "two" } }, {}],
    ["identity encoding", { body: "{}", headers: { "content-encoding": "Identity" } }, {}],
    ["a parsed object", { parsedBody: { a: 1 } }, { a: 1 }],
    [
      "a parsed object whatever the stale headers say",
      {
        parsedBody: {},
        bodyConsumed: true,
        headers: { "content-length": "999", "content-encoding": "gzip" },
      },
      {},
    ],
    ["a string of the host", { parsedBody: '{"a":1}', bodyConsumed: true }, { a: 1 }],
    ["bytes of the host", { parsedBody: encode('{"a":1}'), bodyConsumed: true }, { a: 1 }],
  ])("%s", async (_what, sent, value) => {
    await expect(read(sent)).resolves.toEqual(value);
  });

  it.each([
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
    "application/json ; charset=utf8 ; boundary=x",
    "application/vnd.api+json",
    "application/problem+json",
  ])("the content type %s", async (type) => {
    await expect(read({ body: "{}", headers: { "content-type": type } })).resolves.toEqual({});
  });
});

describe("readJson refuses", () => {
  it.each<[string, Sent, number, RegExp]>([
    ["an empty body", { body: "" }, 400, /body is empty/],
    ["no body", { body: null }, 400, /body is empty/],
    ["a body of spaces", { body: " \n" }, 400, /body is empty/],
    ["a list", { body: "[]" }, 400, /must be a JSON object/],
    ["a text", { body: '"{}"' }, 400, /must be a JSON object/],
    ["null", { body: "null" }, 400, /must be a JSON object/],
    ["an infinite number", { body: "1e999" }, 400, /must be a JSON object/],
    ["bytes that are not JSON", { body: "{a:1}" }, 400, /not valid JSON/],
    ["half an object", { body: '{"a":"' }, 400, /not valid JSON/],
    ["two objects", { body: "{}{}" }, 400, /not valid JSON/],
    ["a duplicate key", { body: '{"model":"a","model":"b"}' }, 400, /model is given twice/],
    [
      "a duplicate key in another spelling",
      { body: '{"model":"a","m\\u006fdel":"b"}' },
      400,
      /model is given twice/,
    ],
    ["a lone continuation byte", { body: new Uint8Array([0x22, 0x80, 0x22]) }, 400, /not valid UTF-8/],
    ["an overlong slash", { body: new Uint8Array([0x22, 0xc0, 0xaf, 0x22]) }, 400, /not valid UTF-8/],
    [
      "a surrogate in UTF-8",
      { body: new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]) },
      400,
      /not valid UTF-8/,
    ],
    ["UTF-16", { body: new Uint8Array([0xff, 0xfe, 0x7b, 0, 0x7d, 0]) }, 400, /not valid UTF-8/],
    ["half an emoji", { body: Buffer.from('{"a":"\xf0\x9f\x98"}', "latin1") }, 400, /not valid UTF-8/],
    ["UTF-8 cut at the end", { body: encode('{"a":"雪').slice(0, -1) }, 400, /not valid UTF-8/],
    ["fewer bytes than declared", { body: "{}", headers: { "content-length": "3" } }, 400, /2 of 3 bytes/],
    ["no bytes where some are declared", { headers: { "content-length": "3" } }, 400, /0 of 3 bytes/],
    ["gzip", { body: "{}", headers: { "content-encoding": "gzip" } }, 415, /Content-Encoding/],
    [
      "a body that was consumed",
      { body: "", bodyConsumed: true },
      500,
      /mount the gateway before the body parser/,
    ],
    ["a parsed list", { parsedBody: [] }, 400, /must be a JSON object/],
    ["a parsed null", { parsedBody: null }, 400, /must be a JSON object/],
    ["a parsed string that is not JSON", { parsedBody: "x" }, 400, /not valid JSON/],
    ["parsed bytes that are not UTF-8", { parsedBody: new Uint8Array([0x80]) }, 400, /not valid UTF-8/],
    ["a duplicate key in a parsed text", { parsedBody: '{"a":1,"a":2}' }, 400, /a is given twice/],
  ])("%s", async (_what, sent, status, message) => {
    await expect(read(sent)).rejects.toEqual(refused(status, message));
  });

  it.each([
    "",
    "text/plain",
    "text/json",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "application/jsonx",
    "application/json, application/json",
    "application/json; charset=utf-16",
    "application/json; charset=gbk",
    "application/+json",
  ])("the content type %j", async (type) => {
    await expect(read({ body: "{}", headers: { "content-type": type } })).rejects.toEqual(
      refused(415, /application\/json/),
    );
  });

  it("a connection that breaks in the middle", async () => {
    await expect(readJson({ ...toRequest({}), body: broken() }, 100)).rejects.toEqual(
      refused(499, /before it was complete/),
    );
  });
});

const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

describe("the limits of readJson", () => {
  const body = '{"a":"12345"}';

  it("are exact to the byte", async () => {
    await expect(read({ body }, body.length)).resolves.toEqual({ a: "12345" });
    await expect(read({ body }, body.length - 1)).rejects.toEqual(refused(413, /larger than 12 bytes/));
  });

  it("count bytes, not characters", async () => {
    await expect(read({ body: '{"a":"雪"}' }, 11)).resolves.toEqual({ a: "雪" });
    await expect(read({ body: '{"a":"雪"}' }, 10)).rejects.toEqual(refused(413, /larger/));
  });

  it("refuse a declared length before a byte is read", async () => {
    let reads = 0;
    async function* counted(): AsyncIterable<Uint8Array> {
      reads++;
      yield encode("{}");
    }
    const request = { ...toRequest({ headers: { "content-length": "101" } }), body: counted() };
    await expect(readJson(request, 100)).rejects.toEqual(refused(413, /larger/));
    expect(reads).toBe(0);
  });

  it("stop an endless body that declares nothing", async () => {
    let ended = false;
    async function* endless(): AsyncIterable<Uint8Array> {
      try {
        for (;;) yield new Uint8Array(10);
      } finally {
        ended = true;
      }
    }
    await expect(readJson({ ...toRequest({}), body: endless() }, 1_000)).rejects.toEqual(
      refused(413, /larger/),
    );
    expect(ended).toBe(true);
  });

  it.each(["body", "parsedBody"] as const)("are 32 levels for %s", async (place) => {
    const value = (depth: number): unknown => (place === "body" ? nested(depth) : JSON.parse(nested(depth)));
    await expect(read({ [place]: value(32) })).resolves.toBeTypeOf("object");
    await expect(read({ [place]: value(33) })).rejects.toEqual(refused(400, /deeper than 32 levels/));
    await expect(read({ [place]: value(20_000) })).rejects.toEqual(refused(400, /deeper than 32 levels/));
  });

  it.each(["body", "parsedBody"] as const)("are 10,000 values for %s", async (place) => {
    const list = JSON.stringify({ a: Array.from({ length: 100_001 }, () => 1) });
    const value = place === "body" ? list : JSON.parse(list);
    await expect(read({ [place]: value })).rejects.toEqual(refused(400, /more than 10000 values/));
  });

  it("are reached before megabytes of brackets become gigabytes", async () => {
    const before = process.memoryUsage().heapUsed;
    await expect(read({ body: `{"a":${"[".repeat(10_000_000)}` }, 20_000_000)).rejects.toEqual(
      refused(400, /deeper than 32/),
    );
    const flat = `{"a":[${"{},".repeat(3_000_000)}`;
    await expect(read({ body: flat }, 20_000_000)).rejects.toEqual(refused(400, /values/));
    await expect(read({ body: "[".repeat(10_000_000) }, 20_000_000)).rejects.toEqual(
      refused(400, /JSON object/),
    );
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200_000_000);
  });
});
