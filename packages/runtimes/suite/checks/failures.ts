import assert from "node:assert/strict";
import { type ReadResponse, SEEDREAM, seedreamChannel } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, waitFor } from "../expect.ts";

const BODY = { model: SEEDREAM, prompt: "a fox", size: "1K" };
const models = { [SEEDREAM]: { family: "seedream" } };
const SHORT = { connectSeconds: 1, firstByteSeconds: 0.2, idleSeconds: 0.2 };

/** Providers that fail. */
export const failures: readonly Check[] = [
  {
    name: "responds with 502 when the provider cannot be reached",
    async run({ serve, addresses }) {
      const response = await serve({ models, channels: [seedreamChannel(addresses.closed)] }).post(BODY);
      expectMatch(response, { status: 502, body: { error: { type: "upstream_error" } } });
    },
  },
  {
    name: "tries the next channel if a provider cannot be reached, because nothing was sent",
    async run({ serve, addresses }) {
      const first = { ...seedreamChannel(addresses.closed), id: "closed", priority: 1 };
      const { post, records } = serve({ models, channels: [first, seedreamChannel(addresses.emulator)] });
      expectMatch(await post(BODY), { status: 200 });
      expectMatch(await waitFor("The record", () => records[0]), { channel: "ark", images: 1 }, "record");
    },
  },
  {
    name: "tries the next channel when the provider's name does not resolve",
    async run({ serve, addresses }) {
      const first = { ...seedreamChannel("https://calotype.invalid"), id: "nowhere", priority: 1 };
      const { post } = serve({ models, channels: [first, seedreamChannel(addresses.emulator)] });
      expectMatch(await post(BODY), { status: 200 });
    },
  },
  {
    name: "sends nothing a second time after a connection broke",
    async run({ serve, fail, asked }) {
      const { post, records } = serve();
      // The second request uses the open connection of the first one. In this case some HTTP clients repeat a request
      // automatically.
      expectMatch(await post(BODY), { status: 200 });
      await fail({ hangUp: true, times: 1 });
      expectNoRepeat(await post(BODY), 502, "upstream_invalid_response");
      assert.equal((await asked()).length, 2);
      assert.equal(records.length, 2);
    },
  },
  {
    name: "responds with 504 when the provider's first byte is late",
    async run({ serve, fail, asked, addresses }) {
      const channel = { ...seedreamChannel(addresses.emulator), timeouts: SHORT };
      const { post, records } = serve({ models, channels: [channel] });
      await fail({ hang: true, times: 1 });
      expectNoRepeat(await post(BODY), 504, "upstream_timeout");
      expectMatch(records, [{ status: 504 }], "records");
      assert.equal((await asked()).length, 1);
    },
  },
  {
    name: "responds with 504 when the provider's response stalls",
    async run({ serve, fail, addresses }) {
      const timeouts = { ...SHORT, firstByteSeconds: 5 };
      const { post } = serve({ models, channels: [{ ...seedreamChannel(addresses.emulator), timeouts }] });
      await fail({ body: { chunkBytes: 20, pauseMs: 3_000 }, times: 1 });
      expectNoRepeat(await post(BODY), 504, "upstream_timeout");
    },
  },
  {
    name: "responds with 502 when the provider's response is cut",
    async run({ serve, fail }) {
      const { post } = serve();
      await fail({ body: { cutAfterBytes: 40 }, times: 1 });
      expectNoRepeat(await post(BODY), 502, "upstream_invalid_response");
    },
  },
  {
    name: "passes a provider's refusal on, with its code and the time to wait",
    async run({ serve, fail }) {
      const { post } = serve();
      const code = "ModelAccountIpmRateLimitExceeded";
      await fail({ provider: "ark", code, retryAfterSeconds: 2, times: 1 });
      const response = await post(BODY);
      expectMatch(response, { status: 429, body: { error: { code, type: "rate_limit_error" } } });
      assert.equal(response.headers.get("retry-after"), "2");
    },
  },
];

/** An image may have been made, so the response says not to repeat the request. */
function expectNoRepeat(response: ReadResponse, status: number, code: string): void {
  expectMatch(response, { status, body: { error: { type: "upstream_error", code } } });
  assert.equal(response.headers.get("x-should-retry"), "false");
}
