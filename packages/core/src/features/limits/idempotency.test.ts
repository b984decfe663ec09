import { describe, expect, it } from "vitest";
import type { GatewayResponse } from "../../http.js";
import { createDataUrlImage, LONG_DATA_URL } from "../../images/data-url.js";
import { createUploadedImage, type UploadedImage } from "../../images/reference-image.js";
import {
  createIdempotencyRequest,
  readIdempotencyKey,
  renderReplay,
  toFingerprint,
  toStoredResponse,
} from "./idempotency.js";

function read(key: string): string | undefined {
  return readIdempotencyKey({ get: (name) => (name === "idempotency-key" ? key : null) });
}

describe("readIdempotencyKey", () => {
  it.each([
    ["8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"],
    ['"8e03978e"', "8e03978e"],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ["  a\t", "a"],
    ['a"b', 'a"b'],
    ["a,b", "a,b"],
    ["!~", "!~"],
    ["x".repeat(255), "x".repeat(255)],
    [`"${"x".repeat(255)}"`, "x".repeat(255)],
  ])("reads %j", (header, key) => {
    expect(read(header)).toBe(key);
  });

  it("returns undefined without the header", () => {
    expect(readIdempotencyKey(new Headers())).toBeUndefined();
  });

  it.each([
    ["is empty", ""],
    ["is blank", "  "],
    ["is empty in quotes", '""'],
    ["is too long", "x".repeat(256)],
    ["is too long in quotes", `"${"x".repeat(256)}"`],
    ["has a space", "a b"],
    ["has a space in quotes", '"a b"'],
    ["is sent twice", "a, b"],
    ["is sent twice in quotes", '"a", "b"'],
    ["has one quote", '"a'],
    ["is a single quote", '"'],
    ["has a parameter", '"a";b=1'],
    ["has an unknown escape", '"a\\n"'],
    ["is not ASCII", "ключ"],
    ["has a control character", "a\u007f"],
  ])("refuses a key that %s with 400", (_, header) => {
    expect(() => read(header)).toThrow(
      expect.objectContaining({
        status: 400,
        param: undefined,
        message:
          "The header Idempotency-Key must be one key of 1 to 255 visible ASCII characters, such as a UUID.",
      }),
    );
  });
});

describe("createIdempotencyRequest", () => {
  const REQUEST = { callerId: "me", path: "/v1/images/generations", key: "k", fields: { n: 1 }, leaseMs: 5 };

  it("returns the same short key and fingerprint for the same request", async () => {
    const created = await createIdempotencyRequest(REQUEST);
    expect(created).toEqual(await createIdempotencyRequest(structuredClone(REQUEST)));
    expect(created.key).toMatch(/^[0-9a-f]{64}$/);
    expect(created.leaseMs).toBe(5);
  });

  it.each([
    { callerId: "you" },
    { path: "/v1/images/edits" },
    { key: "K" },
    { callerId: 'me","/v1/images/generations', path: "" },
    { callerId: "\ud800" },
  ])("returns another key for another caller, path or key: %j", async (other) => {
    const [first, second] = [
      await createIdempotencyRequest(REQUEST),
      await createIdempotencyRequest({ ...REQUEST, ...other }),
    ];
    expect(second.key).not.toBe(first.key);
    expect(second.fingerprint).toBe(first.fingerprint);
  });

  it("returns the same key and another fingerprint for other fields", async () => {
    const [first, second] = [
      await createIdempotencyRequest(REQUEST),
      await createIdempotencyRequest({ ...REQUEST, fields: { n: 2 } }),
    ];
    expect(second.key).toBe(first.key);
    expect(second.fingerprint).not.toBe(first.fingerprint);
  });
});

const LONG = "x".repeat(100_000);

/** An upload whose chunks have the given size. Each chunk overwrites the one before. */
function upload(bytes: Uint8Array, size: number): UploadedImage {
  function* chunks() {
    const piece = new Uint8Array(size);
    for (let start = 0; start < bytes.length; start += size) {
      const taken = bytes.subarray(start, start + size);
      piece.set(taken);
      yield piece.subarray(0, taken.length);
    }
  }
  return createUploadedImage("image/png", { byteLength: bytes.length, chunks, chunksSync: chunks });
}

const of = (image: unknown, more: object = {}): Promise<string> => toFingerprint({ image: [image], ...more });

describe("the fingerprint of an upload", () => {
  const bytes = Uint8Array.from({ length: 2_500_000 }, (_, index) => (index * 7) & 255);
  it("depends on its bytes only, not on its chunks", async () => {
    const first = await of(upload(bytes, 65_536));
    expect(await of(upload(bytes, 999))).toBe(first);
    expect(await of(upload(bytes, 2_500_000))).toBe(first);
  });

  it("differs for other bytes, another order and other fields", async () => {
    const changed = bytes.slice();
    changed[2_499_999] = 1;
    const [a, b] = [upload(bytes, 65_536), upload(changed, 65_536)];
    const all = [
      of(a),
      of(b),
      of(upload(bytes.subarray(1), 65_536)),
      of(a, { n: 2 }),
      of("x"),
      of({ upload: 1 }),
    ];
    const two = [toFingerprint({ image: [a, b] }), toFingerprint({ image: [b, a] })];
    const empty = [of(upload(new Uint8Array(), 1)), of(upload(new Uint8Array(1), 1))];
    const prints = await Promise.all([...all, ...two, ...empty]);
    expect(new Set(prints).size).toBe(prints.length);
  });
});

describe("the fingerprint of a data URL", () => {
  const url = `data:image/png;base64,${"A".repeat(LONG_DATA_URL)}`;
  const image = createDataUrlImage(new TextEncoder().encode(url));

  it("is the same for a string and for bytes", async () => {
    expect(image).toBeDefined();
    expect(await of(image)).toBe(await of(url));
    const mixed = { a: LONG, image: [image, url], z: image };
    expect(await toFingerprint(mixed)).toBe(await toFingerprint({ a: LONG, image: [url, url], z: url }));
  });

  it("differs for another image", async () => {
    const other = createDataUrlImage(new TextEncoder().encode(`${url.slice(0, -1)}B`));
    expect(await of(other)).not.toBe(await of(image));
  });
});

describe("toFingerprint", () => {
  it("returns the same short fingerprint for the same fields", async () => {
    const fields = { prompt: "猫", image: [LONG, "b"], n: 1 };
    expect(await toFingerprint(fields)).toMatch(/^[0-9a-f]{64}$/);
    expect(await toFingerprint(structuredClone(fields))).toBe(await toFingerprint(fields));
  });

  it.each([{ n: 2 }, { n: "1" }, { n: null }, {}, { n: 1, o: 1 }, { n: { n: 1 } }, { n: true }])(
    "differs for other fields: %j",
    async (fields) => {
      expect(await toFingerprint(fields)).not.toBe(await toFingerprint({ n: 1 }));
    },
  );

  it.each([
    ["another end", { a: `${LONG}y` }, { a: `${LONG}z` }],
    ["other fields", { a: LONG, b: "l1" }, { a: "l1", b: LONG }],
    ["another order", { a: [LONG, `${LONG}y`] }, { a: [`${LONG}y`, LONG] }],
    ["one string fewer", { a: [LONG, LONG] }, { a: [LONG] }],
    ["lone surrogates in short strings", { a: "\ud800" }, { a: "\ud801" }],
    ["lone surrogates in long strings", { a: `${LONG}\ud800` }, { a: `${LONG}\ud801` }],
  ])("distinguishes long strings: %s", async (_, first, second) => {
    expect(await toFingerprint(first)).not.toBe(await toFingerprint(second));
  });
});

const RESPONSE = {
  status: 502,
  headers: {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-request-id": "first",
    "x-should-retry": "false",
    "x-calotype-ignored": "style",
    "retry-after": "5",
    "ratelimit-policy": '"requests";q=600;w=60',
    ratelimit: '"requests";r=599;t=42',
    "x-ratelimit-reset-requests": "1s",
  },
  body: '{"data":[]}',
} satisfies GatewayResponse;

describe("toStoredResponse and renderReplay", () => {
  it("repeat a response without the headers that belong to one response only", () => {
    const stored = toStoredResponse(RESPONSE, 1_000);
    expect(stored && renderReplay(stored, "second")).toEqual({
      status: 502,
      headers: {
        "content-type": "application/json",
        "cache-control": "no-store",
        "x-request-id": "second",
        "x-calotype-original-request-id": "first",
        "x-should-retry": "false",
        "x-calotype-ignored": "style",
        "idempotent-replayed": "true",
      },
      body: '{"data":[]}',
    });
  });

  it("store bytes as the string that they encode", () => {
    const body = new TextEncoder().encode('{"prompt":"猫"}');
    expect(toStoredResponse({ ...RESPONSE, body }, 1_000)?.body).toBe('{"prompt":"猫"}');
  });

  it.each([
    ["a string", "猫猫猫"],
    ["bytes", new TextEncoder().encode("猫猫猫")],
  ])("store %s of at most the maximum size", (_, body) => {
    expect(toStoredResponse({ ...RESPONSE, body }, 9)?.body).toBe("猫猫猫");
    expect(toStoredResponse({ ...RESPONSE, body }, 8)).toBeUndefined();
  });

  it("store no stream", () => {
    const body = (async function* () {})();
    expect(toStoredResponse({ ...RESPONSE, body }, 1_000)).toBeUndefined();
    const headers = { "content-type": "text/event-stream" };
    expect(toStoredResponse({ status: 200, headers, body: "" }, 1_000)).toBeUndefined();
  });
});
