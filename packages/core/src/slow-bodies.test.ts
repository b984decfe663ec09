import { describe, expect, it } from "vitest";
import type { GatewayRequest } from "./http.js";
import { BOUNDARY, FORM_TYPE } from "./testing/form-bytes.js";
import { OTHER_KEY } from "./testing/limited-gateway.js";
import { createManualClock } from "./testing/manual-clock.js";
import { CALLER_KEY, createTestGateway, readResponse, type TestGateway } from "./testing/test-gateway.js";

const MAX_BYTES = 1_000_000;
const SLOW_SECONDS = 21; // 20, and one more, because all bodies share a timer

function open() {
  const clock = createManualClock();
  const test = createTestGateway(
    undefined,
    {
      maxBytesInFlight: MAX_BYTES,
      callers: [
        { id: "me", key: CALLER_KEY, limits: { concurrent: 16 } },
        { id: "you", key: OTHER_KEY },
      ],
    },
    { repeat: clock.repeat },
  );
  return { ...test, clock };
}

const JSON_PATH = "/v1/images/generations";

interface Upload {
  readonly request: Request;
  write(text: string): Promise<void>;
  end(): Promise<void>;
}

/** A request whose body is sent by the test. */
function openUpload(path: string, headers: Record<string, string>, key = CALLER_KEY): Upload {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const request = new Request(`http://gateway.test${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: readable,
    duplex: "half",
  });
  return {
    request,
    write: (text) => writer.write(new TextEncoder().encode(text)).catch(() => undefined),
    end: () => writer.close().catch(() => undefined),
  };
}

/** A body of exactly this number of bytes. */
function bodyOf(bytes: number): string {
  const empty = JSON.stringify({ model: "doodle", prompt: "" });
  return JSON.stringify({ model: "doodle", prompt: "p".repeat(bytes - empty.length) });
}

/** Passes only if nothing is held. */
async function expectAllFree({ post, gateway }: TestGateway): Promise<void> {
  expect((await post(bodyOf(MAX_BYTES))).status).toBe(200);
  await gateway.close();
}

const FORM_BEGIN = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\nGIF89a`;

describe("a client that does not send its body", () => {
  it.each<[string, string, Record<string, string>, string]>([
    ["JSON that never begins", JSON_PATH, { "content-length": "900000" }, ""],
    ["JSON in pieces that never begins", JSON_PATH, {}, ""],
    ["JSON that stops", JSON_PATH, { "content-length": "900000" }, '{"model":'],
    ["a form that never begins", "/v1/images/edits", { "content-type": FORM_TYPE }, ""],
    ["a form that stops in a file", "/v1/images/edits", { "content-type": FORM_TYPE }, FORM_BEGIN],
    ["a form that stops after its end", "/v1/images/edits", { "content-type": FORM_TYPE }, `--${BOUNDARY}--`],
  ])("gets a 408 after 20 seconds, and all it held is free: %s", async (_what, path, headers, sent) => {
    const test = open();
    const upload = openUpload(path, headers);
    const pending = test.gateway.fetch(upload.request);
    if (sent !== "") await upload.write(sent);
    await test.clock.tick(SLOW_SECONDS);
    const response = await readResponse(await pending);
    expect(response).toMatchObject({
      status: 408,
      body: { error: { code: "request_timeout", type: "invalid_request_error" } },
    });
    expect(response.headers.get("x-should-retry")).toBeNull();
    // The timer that counts refused requests runs for another second.
    await test.clock.tick(1);
    expect(test.clock.running).toBe(0);
    await expectAllFree(test);
  });

  it("gets it from hosts whose iterators never return, too", async () => {
    const test = open();
    const never = new Promise<never>(() => {});
    const request: GatewayRequest = {
      method: "POST",
      url: JSON_PATH,
      headers: new Headers({ authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" }),
      body: { [Symbol.asyncIterator]: () => ({ next: () => never, return: () => never }) },
      signal: new AbortController().signal,
    };
    const response = test.gateway.handle(request);
    await test.clock.tick(SLOW_SECONDS);
    expect(await response).toMatchObject({ status: 408 });
    await expectAllFree(test);
  });

  it("takes nothing from other callers, however many such bodies it opens", async () => {
    const test = open();
    const idle = Array.from({ length: 16 }, () => {
      const upload = openUpload(JSON_PATH, { "content-length": "64000" });
      return test.gateway.fetch(upload.request);
    });
    const other = new Request(`http://gateway.test${JSON_PATH}`, {
      method: "POST",
      headers: { authorization: `Bearer ${OTHER_KEY}`, "content-type": "application/json" },
      body: bodyOf(MAX_BYTES / 2),
    });
    expect((await test.gateway.fetch(other)).status).toBe(200);
    await test.clock.tick(SLOW_SECONDS);
    expect((await Promise.all(idle)).map(({ status }) => status)).toEqual(Array(16).fill(408));
    await expectAllFree(test);
  });
});

describe("callers with large bodies", () => {
  it("get room one after the other: a caller that was refused passes before the other takes it again", async () => {
    const test = open();
    const send = (bytes: number, key: string): Upload & { response: Promise<Response> } => {
      const upload = openUpload(JSON_PATH, {}, key);
      const response = test.gateway.fetch(upload.request);
      void upload.write(bodyOf(bytes));
      return { ...upload, response };
    };
    const mine = [send(600_000, CALLER_KEY), send(300_000, CALLER_KEY)];
    await test.clock.tick(1);
    const refused = await send(200_000, OTHER_KEY).response;
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("1");
    await mine[1]?.end();
    expect((await mine[1]?.response)?.status).toBe(200);
    // There is room for it, but another caller waits.
    expect((await send(100_000, CALLER_KEY).response).status).toBe(503);
    const again = send(200_000, OTHER_KEY);
    await again.end();
    expect((await again.response).status).toBe(200);
    await mine[0]?.end();
    expect((await mine[0]?.response)?.status).toBe(200);
    await expectAllFree(test);
  });
});

describe("a body that the host has read", () => {
  it.each<[string, unknown, Record<string, string>]>([
    ["as an object", { model: "doodle", prompt: "a fox" }, { "content-length": "900000" }],
    ["as a string", bodyOf(900_000), {}],
    ["as bytes", new TextEncoder().encode(bodyOf(900_000)), {}],
  ])("counts with its size in memory: %s", async (_what, parsedBody, headers) => {
    const test = open();
    const send = (key: string) =>
      test.gateway.handle({
        method: "POST",
        url: JSON_PATH,
        headers: new Headers({
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          ...headers,
        }),
        body: null,
        parsedBody,
        bodyConsumed: true,
        signal: new AbortController().signal,
      });
    const both = await Promise.all([send(CALLER_KEY), send(OTHER_KEY)]);
    expect(both.map((response) => response?.status)).toEqual([200, 503]);
    await test.gateway.close();
  });
});
