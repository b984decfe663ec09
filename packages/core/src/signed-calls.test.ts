import { createHash, createHmac } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import type { ChannelOptions } from "./channels/channel.js";
import type { Family } from "./families/family.js";
import type { CallToSign } from "./families/index.js";
import { openai } from "./families/openai/openai.js";
import { quickDarkroom } from "./testing/darkroom.js";
import { DONE, isSubmission, openDarkroom } from "./testing/open-darkroom.js";
import {
  CALLER_KEY,
  createTestGateway,
  GENERATIONS,
  readResponse,
  type TestGateway,
} from "./testing/test-gateway.js";

/* A family whose service checks an HMAC of each call. The key is `name:secret`. */

const KEY = "name:secret-canary-1";
const NOW = 1_800_000_000_000;

const outlineOf = ({ method, url, bodySha256, time }: Omit<CallToSign, "headers">): string =>
  [method, url, bodySha256 ?? "unsigned", time].join(" ");

/** Signs with Web Crypto, which is asynchronous. */
async function authorize(key: string, call: CallToSign): Promise<Record<string, string>> {
  const [name = "", secret = ""] = key.split(":");
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  const signature = await crypto.subtle.sign("HMAC", imported, encoder.encode(outlineOf(call)));
  const type = call.headers["content-type"]?.split(";")[0] ?? "none";
  return { "X-Signature": `${name} ${type} ${Buffer.from(signature).toString("hex")}` };
}

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Whether a call has the signature of the secret. */
function isSigned({ method, url, headers, body }: Received, secret: string, signsBody = true): boolean {
  const bodySha256 = signsBody ? createHash("sha256").update(body).digest("hex") : undefined;
  const outline = outlineOf({ method: method as "POST", url, bodySha256, time: NOW });
  const signature = createHmac("sha256", secret).update(outline).digest("hex");
  return headers.get("x-signature")?.endsWith(` ${signature}`) === true;
}

interface Signed extends TestGateway {
  readonly received: Received[];
}

/** @param accepts whether the service accepts a call */
function open(
  channel: Partial<ChannelOptions> = {},
  {
    accepts = (call: Received) => isSigned(call, "secret-canary-1"),
    ...family
  }: Partial<Family> & {
    readonly accepts?: (call: Received) => boolean;
  } = {},
): Signed {
  const received: Received[] = [];
  const bench = createTestGateway(
    undefined,
    {
      families: [{ ...openai, name: "signed", authorize, signs: "body", ...family }],
      models: { m: { family: "signed" } },
      channels: [
        { id: "c", family: "signed", apiKey: KEY, baseUrl: "https://signed.test/v1?v=2", ...channel },
      ],
      fetch: async (url, { method = "GET", headers, body }) => {
        const bytes = new Uint8Array(await new Response(body ?? null).arrayBuffer());
        const call = { method, url, headers: new Headers(headers), body: bytes };
        received.push(call);
        if (!accepts(call)) return Response.json({ error: { message: "wrong signature" } }, { status: 401 });
        return Response.json({ created: 1, data: [{ b64_json: "AAAA" }] });
      },
    },
    { now: () => NOW },
  );
  return { ...bench, received };
}

const BODY = { model: "m", prompt: "a kite" };

async function edit({ gateway }: TestGateway, bytes: number) {
  const png = new Uint8Array(bytes).fill(7);
  png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const form = new FormData();
  form.set("model", "m");
  form.set("prompt", "a kite");
  form.set("image", new Blob([png], { type: "image/png" }), "a.png");
  const headers = { authorization: `Bearer ${CALLER_KEY}` };
  const url = GENERATIONS.replace("generations", "edits");
  return readResponse(await gateway.fetch(new Request(url, { method: "POST", headers, body: form })));
}

describe("a family that signs", () => {
  it("signs method, URL, headers, time and the digest of a JSON body", async () => {
    const bench = open();
    expect((await bench.post(BODY)).status).toBe(200);
    expect(bench.received).toHaveLength(1);
    expect(bench.received[0]?.headers.get("x-signature")).toMatch(/^name application\/json [\da-f]{64}$/);
    expect(bench.received[0]?.headers.has("authorization")).toBe(false);
  });

  it("signs the digest of a form with files, from the files that the client has sent", async () => {
    const bench = open();
    expect((await edit(bench, 3_000_000)).status).toBe(200);
    expect(bench.received[0]?.body.length).toBeGreaterThan(3_000_000);
    expect(bench.received[0]?.headers.get("x-signature")).toMatch(/^name multipart\/form-data /);
  });

  it("signs without the body if it does not need the digest", async () => {
    const bench = open({}, { signs: "call", accepts: (call) => isSigned(call, "secret-canary-1", false) });
    expect((await bench.post(BODY)).status).toBe(200);
  });

  it("signs again with the next key of a function", async () => {
    let count = 0;
    const bench = open(
      { apiKey: () => `name:secret-canary-${++count}` },
      { accepts: (call) => isSigned(call, "secret-canary-2") },
    );
    expect((await edit(bench, 300_000)).status).toBe(200);
    expect(bench.received).toHaveLength(2);
    expect(bench.received[1]?.body).toEqual(bench.received[0]?.body);
  });

  it("has a failed key if it cannot sign, and sends nothing", async () => {
    const bench = open({}, { authorize: () => Promise.reject(new Error(`The key ${KEY} cannot be read.`)) });
    const { status, body } = await bench.post(BODY);

    expect([status, body["error"]]).toMatchObject([401, { code: "upstream_authentication_failed" }]);
    expect(bench.received).toEqual([]);
    expect(bench.gateway.status().channels).toMatchObject([
      { state: "cooling", reason: "credential", errors: [{ message: "The key *** cannot be read." }] },
    ]);
    expect(inspect(bench.logs, { depth: 20 })).not.toContain("canary");
  });

  it("signs the polls of a job, which have no body", async () => {
    const polls: Received[] = [];
    const bench = openDarkroom(undefined, () => new Response(), {
      families: [{ ...quickDarkroom, authorize, signs: "body" }],
      channels: [{ id: "one", family: "darkroom", apiKey: KEY }],
      fetch: async (url, { method = "GET", headers, body }) => {
        const bytes = new Uint8Array(await new Response(body ?? null).arrayBuffer());
        polls.push({ method, url, headers: new Headers(headers), body: bytes });
        return Response.json(isSubmission(url) ? { id: "t1" } : DONE);
      },
    });
    expect((await bench.post({ model: "film", prompt: "p" })).status).toBe(200);

    const [submission, poll] = polls;
    expect(polls.map(({ method, body }) => [method, body.length > 0])).toEqual([
      ["POST", true],
      ["GET", false],
    ]);
    expect(submission?.headers.get("x-signature")).toMatch(/^name application\/json /);
    expect(poll?.headers.get("x-signature")).toMatch(/^name none /);
    expect(poll?.headers.get("x-signature")).not.toBe(submission?.headers.get("x-signature"));
  });
});

it("a family whose authorize returns a promise must say that it signs", () => {
  expect(() => open({}, { signs: undefined })).toThrow(
    "authorize of a family without signs returned a promise",
  );
});
