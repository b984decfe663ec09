import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  GENERATIONS,
  NATIVE,
  QWEN_IMAGE,
  readResponse,
  SEEDREAM,
  toInit,
  toScript,
  UPSTREAM_SEEDREAM,
} from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, read, waitFor } from "../expect.ts";

const BODY = { model: SEEDREAM, prompt: "一只橘猫", size: "1K" };

/** Images as JSON, from both families. */
export const responses: readonly Check[] = [
  {
    name: "reaches the provider by the transport of its runtime",
    async run({ host, addresses, serve, asked }) {
      const original = globalThis.fetch;
      let calls = 0;
      globalThis.fetch = (input, init) => {
        if (input === `${addresses.emulator}/api/v3/images/generations`) calls++;
        return original(input, init);
      };
      try {
        expectMatch(await serve().post(BODY), { status: 200 });
      } finally {
        globalThis.fetch = original;
      }
      expectMatch(calls, host.transport === "fetch" ? 1 : 0, "calls of the global fetch");
      expectMatch(await asked(), [{ body: { model: UPSTREAM_SEEDREAM, prompt: BODY.prompt } }], "asked");
    },
  },
  {
    name: "responds with an image as a link",
    async run({ serve, addresses }) {
      const { post, records, logLines } = serve();
      const response = await post(BODY);
      expectMatch(response, {
        status: 200,
        body: { model: SEEDREAM, data: [{ url: new RegExp(`^${addresses.emulator}/`) }] },
      });
      assert.equal(response.headers.get("content-type"), "application/json");
      const record = await waitFor("The record", () => records[0]);
      expectMatch(record, { id: response.headers.get("x-request-id"), images: 1, charge: "0.03" }, "record");
      assert.deepEqual(logLines, []);
    },
  },
  {
    name: "responds with an image in base64",
    async run({ serve }) {
      const response = await serve().post({ ...BODY, response_format: "b64_json" });
      expectMatch(response.status, 200, "status");
      const image = Buffer.from(String(read(response.body, "data", 0, "b64_json")), "base64");
      assert.equal(image.subarray(0, 3).toString("hex"), "ffd8ff", "no JPEG");
    },
  },
  {
    name: "responds with four images for n 4, charged as four",
    async run({ serve }) {
      const { post, records } = serve();
      const response = await post({ ...BODY, prompt: "4 images of a fox", n: 4 });
      const image = { url: /^http/ };
      expectMatch(response, { status: 200, body: { data: [image, image, image, image] } });
      const record = await waitFor("The record", () => records[0]);
      expectMatch(record, { images: 4, charge: "0.12" }, "record");
    },
  },
  {
    name: "responds for Qwen-Image in its standard structure",
    async run({ serve }) {
      const response = await serve().post({
        model: QWEN_IMAGE,
        prompt: "placeholder",
        input: { messages: [{ role: "user", content: [{ text: "a red fox" }] }] },
        parameters: { size: "1328*1328" },
      });
      expectMatch(response, { status: 200, body: { data: [{ url: /^http/ }] } });
    },
  },
  {
    name: "relays the provider's own response on the native endpoint",
    async run({ serve, asked }) {
      const response = await serve().post({ ...BODY, watermark: false, seed: 7 }, NATIVE);
      expectMatch(response, { status: 200, body: { model: UPSTREAM_SEEDREAM, data: [{ url: /^http/ }] } });
      expectMatch(await asked(), [{ body: { watermark: false, seed: 7 } }], "asked");
    },
  },
  {
    name: "forwards numbers beyond 2^53 as they were sent",
    async run({ serve, addresses }) {
      const { send } = serve(toScript(addresses, "keep"));
      const numbers = '"x":12345678901234567890,"y":[1e400,0.1000000000000000055,-0,1.0]';
      for (const path of [GENERATIONS, NATIVE]) {
        const body = `{"model":"${SEEDREAM}","prompt":"a fox",${numbers}}`;
        const response = await send(path, { ...toInit({}), body });
        expectMatch(await readResponse(response), { status: 200 });
        const kept = await (await fetch(`${addresses.scripted}/kept`)).text();
        assert.ok(kept.includes(numbers), `The provider got ${kept}`);
      }
    },
  },
  {
    name: "does not relay a compressed response, and charges it if the transport can read it",
    async run({ host, serve, addresses }) {
      const { post, records } = serve(toScript(addresses, "gzip"));
      const isRead = host.transport === "fetch";
      const status = isRead ? 200 : 502;
      const { headers, ...response } = await post(BODY);
      expectMatch(response, {
        status,
        body: isRead ? { data: [{ url: /^https/ }] } : { error: { message: /gzip/ } },
      });
      assert.equal(headers.get("content-encoding"), null);
      const record = await waitFor("The record", () => records[0]);
      expectMatch(record, { status, images: isRead ? 1 : 0 }, "record");
    },
  },
  {
    name: "responds to ten parallel clients, each with its own image",
    async run({ serve }) {
      const { post } = serve();
      const sizes = Array.from({ length: 10 }, (_none, index) => `${1024 + 16 * index}x1024`);
      const all = await Promise.all(sizes.map((size) => post({ ...BODY, size }, GENERATIONS)));
      for (const [index, { body }] of all.entries()) expectMatch(body, { data: [{ size: sizes[index] }] });
    },
  },
];
