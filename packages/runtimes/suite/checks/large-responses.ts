import assert from "node:assert/strict";
import {
  type Bench,
  CALLER_KEY,
  GENERATIONS,
  NATIVE,
  SEEDREAM,
  type ServedGateway,
  toScript,
} from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch, read, waitFor } from "../expect.ts";

const BODY = { model: SEEDREAM, prompt: "a kite", response_format: "b64_json" };
/** The size of the image of `POST /large` of the scripted provider. */
const IMAGE_BYTES = 32 * 1024 * 1024;
const RECORD = { status: 200, images: 1, charge: "0.03" };

/** Responses of megabytes, which are relayed as they arrive. */
export const largeResponses: readonly Check[] = [
  {
    name: "relays a response of 32 MB completely",
    async run(bench) {
      const served = serveLarge(bench);
      for (const path of [GENERATIONS, NATIVE]) {
        const { status, headers, body } = await served.post(BODY, path);
        expectMatch(status, 200, "status");
        assert.equal(headers.get("content-type"), "application/json");
        const image = String(read(body, "data", 0, "b64_json"));
        assert.equal(image.length, IMAGE_BYTES);
        assert.equal(image.replaceAll("A", ""), "");
      }
      expectMatch(served.records, [RECORD, RECORD], "records");
    },
  },
  {
    name: "reads a large response no faster than its client does",
    async run(bench) {
      const { gateway, url, records } = serveLarge(bench);
      const before = await readSent(bench);
      const response = await gateway.fetch(
        new Request(url + GENERATIONS, {
          method: "POST",
          headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
          body: JSON.stringify(BODY),
        }),
      );
      const reader = response.body?.getReader();
      const first = await reader?.read();
      assert.ok(first?.value instanceof Uint8Array);
      const taken = (await waitUntilStill(bench)) - before;
      assert.ok(taken < IMAGE_BYTES, `all of it was taken, and ${first.value.length} bytes were read`);
      let { length } = first.value;
      for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
        length += part.value.length;
      }
      assert.ok(length > IMAGE_BYTES, `${length} bytes came`);
      expectMatch(await waitFor("The record", () => records[0]), RECORD, "record");
    },
  },
];

function serveLarge({ serve, addresses }: Bench): ServedGateway {
  return serve(toScript(addresses, "large"));
}

/** Returns the number of bytes that were read when the number no longer grows. */
async function waitUntilStill(bench: Bench): Promise<number> {
  let last = -1;
  for (let sent = await readSent(bench); sent !== last; sent = await readSent(bench)) {
    last = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  return last;
}

/** The bytes of large responses that were read from the provider. */
async function readSent({ addresses }: Bench): Promise<number> {
  return Number(await (await fetch(`${addresses.scripted}/large-sent`)).text());
}
