import assert from "node:assert/strict";
import {
  type Bench,
  CHANNEL_KEY,
  GENERATIONS,
  NATIVE,
  SEEDREAM,
  type ServedGateway,
  toInit,
  toScript,
} from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, waitFor } from "../expect.ts";

const BODY = { model: SEEDREAM, prompt: "3 images of a kite", size: "1K", n: 3, stream: true };

/** Server-sent events. */
export const streams: readonly Check[] = [
  {
    name: "relays a stream's first event before the second exists",
    async run({ serve, addresses }) {
      const served = serve(toScript(addresses, "stream"));
      const response = await startStream(served);
      expectMatch(response.headers.get("content-type"), /^text\/event-stream/, "content-type");
      const texts = textsOf(response);
      expectMatch(
        (await texts.next()).value,
        /^event: image_generation\.partial_succeeded\n.+\n\n$/,
        "first",
      );
      assert.deepEqual(served.records, []);
      // Only now does the provider send the second.
      await fetch(`${addresses.scripted}/go`, { method: "POST" });
      expectMatch((await texts.next()).value, /^event: image_generation\.completed\n.+\n\n$/, "second");
      expectMatch((await texts.next()).done, true, "end");
      expectMatch(served.records, [{ status: 200, images: 1, charge: "0.03" }], "records");
    },
  },
  {
    name: "settles a whole stream, once, when its client disconnects",
    async run({ serve }) {
      const served = serve();
      const leave = new AbortController();
      const response = await startStream(served, leave.signal);
      await response.body?.getReader().read();
      leave.abort();
      const record = await waitFor("The record", () => served.records[0]);
      expectMatch(record, { status: 200, images: 3, charge: "0.09" }, "record");
      await pause(100);
      assert.equal(served.records.length, 1);
    },
  },
  {
    name: "settles a response, once, when its client disconnects before it",
    async run(bench) {
      const served = bench.serve();
      await bench.fail({ latencyMs: 600, times: 1 });
      const leave = new AbortController();
      const left = startStream(served, leave.signal, { stream: false }).catch(() => undefined);
      await waitForRequest(bench);
      leave.abort();
      await left;
      assert.deepEqual(served.records, []);
      const record = await waitFor("The record", () => served.records[0]);
      expectMatch(record, { status: 200, images: 3 }, "record");
    },
  },
  {
    name: "ends a stream that breaks off between two events with an error event",
    async run({ serve, addresses }) {
      const served = serve(toScript(addresses, "stream"));
      const texts = textsOf(await startStream(served));
      expectMatch((await texts.next()).value, /^event: image_generation\.partial_succeeded\n/, "text");
      await fetch(`${addresses.scripted}/break`, { method: "POST" });
      expectMatch(
        (await texts.next()).value,
        /^event: error\ndata: \{"error":\{"message":.+"code":"upstream_invalid_response".+\}\n\n$/,
        "error",
      );
      expectMatch((await texts.next()).done, true, "end");
      expectMatch(
        served.records,
        [{ images: 1, charge: "0.03", errorCode: "upstream_invalid_response" }],
        "records",
      );
    },
  },
  {
    name: "breaks off a stream that is cut inside an event",
    async run({ serve, addresses }) {
      const served = serve(toScript(addresses, "stream"));
      const texts = textsOf(await startStream(served));
      await texts.next();
      await fetch(`${addresses.scripted}/break-inside`, { method: "POST" });
      const readAll = async (): Promise<void> => {
        while ((await texts.next()).done !== true);
      };
      await assert.rejects(readAll(), "the incomplete stream ended as a complete one");
      expectMatch(served.records, [{ images: 1, errorCode: "upstream_invalid_response" }], "records");
    },
  },
  {
    name: "redacts the key of a channel in a stream that quotes it, also across chunks",
    async run({ serve, addresses }) {
      const { send, records } = serve(toScript(addresses, "quote"));
      for (const path of [GENERATIONS, NATIVE]) {
        const text = await (await send(path, toInit(BODY))).text();
        // The first three bytes of a key may pass at the end of a chunk.
        expectMatch(text, /The key \\"Bearer (?:c|ch|cha)?\*\*\*\\" is wrong\./, "text");
        assert.ok(!text.includes(CHANNEL_KEY.slice(3)), "The stream quotes the key.");
      }
      expectMatch(records, [{ images: 1 }, { images: 1 }], "records");
    },
  },
  {
    name: "sends a comment into a stream that is silent",
    async run({ serve }) {
      const text = await (await startStream(serve({ heartbeatSeconds: 0.03 }))).text();
      expectMatch(text, /\n\n: keep-alive\n\n/, "text");
    },
  },
];

function startStream(
  { send }: ServedGateway,
  signal: AbortSignal | null = null,
  fields: object = {},
): Promise<Response> {
  return send(GENERATIONS, { ...toInit({ ...BODY, ...fields }), signal });
}

async function* textsOf(response: Response): AsyncGenerator<string, undefined> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return undefined;
    yield decoder.decode(value, { stream: true });
  }
}

/** Waits until the provider has received a request. */
async function waitForRequest({ asked }: Bench): Promise<void> {
  while ((await asked()).length === 0) await pause(10);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
