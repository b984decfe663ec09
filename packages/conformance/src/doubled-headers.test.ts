import { describe, expect, it } from "vitest";
import { sentUpstream } from "./clients/support/sent-upstream.js";
import { serve } from "./clients/support/serve.js";
import type { ReadResponse } from "./support/http-client.js";
import { openRaw } from "./support/raw-client.js";
import { CALLER_KEY, SEEDREAM } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

const providers = useProviders();
const BODY = JSON.stringify({ model: SEEDREAM, prompt: "a fox" });

/** Sends a request whose head ends with exactly these lines. */
async function sendWith(url: string, lines: readonly string[]): Promise<ReadResponse> {
  const [first = "", ...rest] = lines;
  const { socket, response } = await openRaw(url, {
    path: "/v1/images/generations",
    headers: {
      authorization: `Bearer ${CALLER_KEY}`,
      "content-type": "application/json",
      "content-length": String(BODY.length),
      "x-last": ["of mine", first, ...rest].join("\r\n"),
    },
  });
  socket.write(BODY);
  return response();
}

describe("a head with an Idempotency-Key", () => {
  it.each<[string, readonly string[]]>([
    ["twice", ["Idempotency-Key: one", "Idempotency-Key: two"]],
    ["twice, the same", ["Idempotency-Key: one", "idempotency-key: one"]],
    ["that is empty", ["Idempotency-Key:"]],
    ["of 300 characters", [`Idempotency-Key: ${"k".repeat(300)}`]],
    ["of other bytes than ASCII", ["Idempotency-Key: schl\u00FCssel"]],
  ])("gets a 400 that names the header, and nothing is sent: %s", async (_what, lines) => {
    const { url } = await serve(providers());
    const { status, text } = await sendWith(url, lines);
    expect([status, text]).toEqual([400, expect.stringContaining("Idempotency-Key")]);
    expect(sentUpstream(providers())).toEqual([]);
  });

  it("is refused by the server if it is too large, and the next request passes", async () => {
    const { url } = await serve(providers());
    expect((await sendWith(url, [`Idempotency-Key: ${"k".repeat(1_000_000)}`])).status).toBe(431);
    expect((await sendWith(url, ["Idempotency-Key: one"])).status).toBe(200);
  });
});

describe("a head whose length is not that of the body", () => {
  it.each<[string, readonly string[]]>([
    ["two lengths", ["Content-Length: 1"]],
    ["a length and chunks", ["Transfer-Encoding: chunked"]],
  ])("is refused before it reaches the gateway: %s", async (_what, lines) => {
    const { url, records } = await serve(providers());
    expect((await sendWith(url, lines)).status).toBe(400);
    expect([sentUpstream(providers()), records]).toEqual([[], []]);
  });
});
