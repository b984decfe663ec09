import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { GatewayRequest } from "../http.js";
import { FORM_TYPE, formBytes, inPieces, PNG, PNG_URL } from "../testing/form-bytes.js";
import { openMemorySpool, withDataUrls } from "../testing/form-files.js";
import { readMultipart } from "./multipart.js";

const LIMITS = { form: 100_000, file: 10_000 };
const FORM = formBytes(
  { name: "model", content: "m" },
  { name: "image", filename: "a.gif", type: "image/gif", content: PNG },
);

async function read(
  request: Partial<GatewayRequest> & { readonly type?: string | null } = {},
): Promise<unknown> {
  const { type = FORM_TYPE, headers = new Headers(), ...rest } = request;
  const sent = new Headers(headers instanceof Headers ? headers : {});
  if (type !== null) sent.set("content-type", type);
  const fields = await readMultipart(
    {
      method: "POST",
      url: "/v1/images/edits",
      body: inPieces(FORM),
      signal: new AbortController().signal,
      ...rest,
      headers: sent,
    },
    { limits: LIMITS, spool: openMemorySpool() },
  );
  return withDataUrls(fields);
}

const refused = (status: number, message: RegExp): unknown =>
  expect.objectContaining({ status, message: expect.stringMatching(message) });

describe("readMultipart", () => {
  it.each([
    FORM_TYPE,
    FORM_TYPE.replace("; ", ";"),
    FORM_TYPE.replace("multipart/form-data", "Multipart/Form-Data"),
  ])("accepts a form of type %s", async (type) => {
    expect(await read({ type })).toEqual({ model: "m", image: [PNG_URL] });
  });

  it("accepts a boundary in quotes", async () => {
    const form = Buffer.from(
      Buffer.from(FORM)
        .toString("latin1")
        .replaceAll(/----form-boundary-7f3a/g, "a b:c"),
      "latin1",
    );
    const body = inPieces(form);
    expect(await read({ type: 'multipart/form-data; boundary="a b:c"', body })).toEqual({
      model: "m",
      image: [PNG_URL],
    });
  });

  it("accepts the raw bytes that a body parser of the host provides", async () => {
    expect(await read({ parsedBody: FORM, bodyConsumed: true, body: Readable.from([]) })).toEqual({
      model: "m",
      image: [PNG_URL],
    });
  });

  it.each([
    ["JSON", "application/json"],
    ["a form without files", "application/x-www-form-urlencoded"],
    ["another multipart", "multipart/mixed; boundary=x"],
    ["a type that only begins alike", "multipart/form-data-x; boundary=x"],
    ["no type", null],
  ])("refuses %s and says what to send", async (_what, type) => {
    await expect(read({ type })).rejects.toEqual(
      refused(
        415,
        /takes a form with files or JSON: send Content-Type: multipart\/form-data or application\/json/,
      ),
    );
  });

  it.each([
    "multipart/form-data; charset=utf-8",
    "multipart/form-data;",
    "multipart/form-data; boundary=",
    "multipart/form-data; boundary",
  ])("refuses %j, which has no boundary", async (type) => {
    await expect(read({ type })).rejects.toEqual(refused(400, /needs a boundary/));
  });

  it("refuses a boundary that does not occur in the form", async () => {
    await expect(read({ type: "multipart/form-data; boundary=other" })).rejects.toEqual(
      refused(400, /malformed/),
    );
  });

  it("refuses a compressed form", async () => {
    const headers = new Headers({ "content-encoding": "gzip" });
    await expect(read({ headers })).rejects.toEqual(refused(415, /without Content-Encoding/));
    expect(await read({ headers: new Headers({ "content-encoding": "identity" }) })).toMatchObject({
      model: "m",
    });
  });

  it("refuses a form that declares to be too large, without reading it", async () => {
    let asked = 0;
    async function* body() {
      asked++;
      yield FORM;
    }
    const headers = new Headers({ "content-length": "100001" });
    await expect(read({ headers, body: body() })).rejects.toEqual(refused(413, /larger than 100000 bytes/));
    expect(asked).toBe(0);
  });

  it.each([
    ["65 files", 64, { name: "image", filename: "a", content: PNG }],
    ["257 fields", 256, { content: "x" }],
    ["321 parts that say nothing of themselves", 320, undefined],
  ])("refuses %s and accepts one less", async (_what, most, part) => {
    const nameless = Buffer.from("------form-boundary-7f3a\r\nX-Nothing: 1\r\n\r\n\r\n");
    const formOf = (count: number): Uint8Array => {
      if (part === undefined)
        return Buffer.concat([...Array.from({ length: count }, () => nameless), formBytes()]);
      return formBytes(...Array.from({ length: count }, (_, index) => ({ name: `p${index}`, ...part })));
    };
    const tooMany = refused(400, /^The form has too many parts\.$/);
    await expect(read({ body: inPieces(formOf(most + 1)) })).rejects.toEqual(tooMany);
    await expect(read({ body: inPieces(formOf(most)) })).rejects.toEqual(refused(400, /^model is required$/));
  });

  it.each(["two", "-1", "12"])("does not trust a content-length of %j", async (length) => {
    expect(await read({ headers: new Headers({ "content-length": length }) })).toMatchObject({ model: "m" });
  });

  it.each([undefined, {}, { model: "m" }, "text"])(
    "says that the operator's parser took the form when it left %j",
    async (parsedBody) => {
      await expect(read({ bodyConsumed: true, parsedBody })).rejects.toMatchObject({
        status: 500,
        code: "body_already_read",
        shouldRetry: false,
      });
    },
  );
});
