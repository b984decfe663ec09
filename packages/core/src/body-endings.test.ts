import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import type { GatewayRequest } from "./http.js";
import { inPieces } from "./testing/form-bytes.js";
import { CALLER_KEY, createTestGateway, type TestGateway } from "./testing/test-gateway.js";

const MAX_BYTES = 100_000;

/** The bytes that a client sends as a body. */
interface Sent {
  readonly path?: string;
  readonly type?: string;
  readonly bytes: Uint8Array | string;
  readonly headers?: Record<string, string>;
  readonly chunkBytes?: number;
}

const FORM_TYPE = "multipart/form-data; boundary=b";

function toRequest({ path = "/v1/images/edits", type = FORM_TYPE, bytes, ...rest }: Sent): GatewayRequest {
  const body = Buffer.from(bytes);
  return {
    method: "POST",
    url: path,
    headers: new Headers({ authorization: `Bearer ${CALLER_KEY}`, "content-type": type, ...rest.headers }),
    body: inPieces(body, rest.chunkBytes ?? Math.max(1, body.length)),
    signal: new AbortController().signal,
  };
}

/** Sends requests and returns their statuses. Fails if slots or bytes are still in use afterwards. */
async function statusesOf(sent: readonly Sent[], test: TestGateway = open()): Promise<readonly number[]> {
  const responses = await Promise.all(sent.map(async (one) => test.gateway.handle(toRequest(one))));
  // The whole budget is free again, and so is each place.
  const full = `{"model":"doodle","prompt":"${"p".repeat(MAX_BYTES - 40)}"}`;
  expect((await test.post(full)).status).toBe(200);
  await test.gateway.close();
  return responses.map((response) => response?.status ?? 0);
}

const open = (): TestGateway => createTestGateway(undefined, { maxBytesInFlight: MAX_BYTES });

const field = (name: string, text: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
const file = (name: string, content: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="a"\r\nContent-Type: image/gif\r\n\r\n${content}\r\n`;

const FORM = `${field("model", "doodle")}${field("prompt", "at night")}${file("image", "GIF89a")}--b--`;
const OPEN_FILE = '\r\n--b\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\nGIF89a';

/** Accepted, or refused with a 4xx. */
const isResponse = (status: number): boolean => status === 200 || (status >= 400 && status < 500);

describe("a form", () => {
  it.each([
    ["has an open file after its end", `--b--\r\n--b${OPEN_FILE}`],
    ["has nothing but an open file after its end", `--b--${OPEN_FILE}`],
    ["has an open file", OPEN_FILE.slice(2)],
  ])("that %s is refused", async (_what, bytes) => {
    expect(await statusesOf([{ bytes }])).toEqual([400]);
  });

  it.each([
    ["an open file", OPEN_FILE],
    ["a whole part", `\r\n${field("prompt", "another")}--b--`],
    ["an open field", '\r\n--b\r\nContent-Disposition: form-data; name="x"\r\n\r\n1'],
    ["an open part header", "\r\n--b\r\nContent-Disp"],
    ["a delimiter", "\r\n--b"],
    ["half a delimiter", "\r\n--"],
    ["another end", "\r\n--b--\r\n--b--"],
    ["a boundary that nothing may follow", "\r\n--bx"],
    ["text", "after"],
    ["many bytes", "x".repeat(50_000)],
  ])("is complete at its end: %s after it is ignored", async (_what, epilogue) => {
    for (const chunkBytes of [1, 7, 1_000_000]) {
      const test = open();
      expect(await statusesOf([{ bytes: FORM + epilogue, chunkBytes }], test)).toEqual([200]);
      expect(test.calls[0]?.body).toMatchObject({ model: "doodle", prompt: "at night" });
    }
  });

  it.each([
    ["nothing", ""],
    ["text", "before\r\n"],
    ["half a delimiter", "--\r\n"],
    ["a part header", "Content-Disposition: form-data; name=x\r\n\r\n"],
  ])("may have a preamble: %s", async (_what, preamble) => {
    for (const chunkBytes of [1, 1_000_000]) {
      expect(await statusesOf([{ bytes: preamble + FORM, chunkBytes }])).toEqual([200]);
    }
  });

  it.each([1, 1_000_000])("that is cut anywhere is refused, in chunks of %i bytes", async (chunkBytes) => {
    const cuts = Array.from({ length: FORM.length }, (_, end) => ({ bytes: FORM.slice(0, end), chunkBytes }));
    const statuses = await statusesOf(cuts);
    expect(new Set(statuses)).toEqual(new Set([400]));
    expect(statuses).toHaveLength(FORM.length);
  });

  it.each([
    "--b--",
    "\r\n--b--",
    `\r\n--b--\r\n--b${OPEN_FILE}`,
    OPEN_FILE,
    "\r\n--b\r\n",
    "\r\n\r\n",
    "\r\n--b",
    "--",
    "\r",
    "\0",
    `\r\n${FORM}`,
  ])("with %j inserted anywhere gets a response, and leaves nothing behind", async (inserted) => {
    const sent = Array.from({ length: FORM.length + 1 }, (_, at) => ({
      bytes: FORM.slice(0, at) + inserted + FORM.slice(at),
      chunkBytes: at % 3 === 0 ? 1 : 1_000_000,
    }));
    for (const status of await statusesOf(sent)) {
      expect(status).toSatisfy(isResponse);
    }
  });

  it.each(["--b--", `\r\n--b--\r\n--b${OPEN_FILE}`, OPEN_FILE, "\r\n--b\r\n\r\n"])(
    "that goes on with %j from any byte gets a response, and leaves nothing behind",
    async (rest) => {
      const sent = Array.from({ length: FORM.length }, (_, at) => ({
        bytes: FORM.slice(0, at) + rest,
        chunkBytes: at % 3 === 0 ? 1 : 1_000_000,
      }));
      for (const status of await statusesOf(sent)) {
        expect(status).toSatisfy(isResponse);
      }
    },
  );
});

const json = (bytes: string, more: Partial<Sent> = {}): Sent => ({
  path: "/v1/images/generations",
  type: "application/json",
  bytes,
  ...more,
});

describe("JSON", () => {
  const JSON_BODY = '{"model":"doodle","prompt":"a \\"fox\\"","x":[1,{"y":null}]}';

  it.each([
    ["with its length", { "content-length": String(JSON_BODY.length) }],
    ["without a length", {}],
  ])("that is cut anywhere is refused, %s", async (_what, headers) => {
    const sent = Array.from(JSON_BODY, (_, end) => json(JSON_BODY.slice(0, end), { headers, chunkBytes: 3 }));
    expect(new Set(await statusesOf(sent))).toEqual(new Set([400]));
  });

  it("with a byte more anywhere gets a response, and leaves nothing behind", async () => {
    for (const added of ['"', "{", "}", "\\", "\0", "é", " "]) {
      const sent = Array.from({ length: JSON_BODY.length + 1 }, (_, at) =>
        json(JSON_BODY.slice(0, at) + added + JSON_BODY.slice(at)),
      );
      for (const status of await statusesOf(sent)) {
        expect(status).toSatisfy(isResponse);
      }
    }
  });
});
