import assert from "node:assert/strict";
import { GENERATIONS, NATIVE, SEEDREAM, toInit } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch } from "../expect.ts";

const BODY = { model: SEEDREAM, prompt: "a fox", size: "1K" };

/** Mount paths, and the response headers that a web page of another origin may read. */
export const paths: readonly Check[] = [
  {
    name: "serves its endpoints at any depth, with a base path and without one",
    async run({ serve }) {
      for (const options of [{}, { basePath: undefined }]) {
        const { post } = serve(options);
        for (const path of [GENERATIONS, NATIVE]) {
          expectMatch(await post(BODY, `/shop/eu${path}`), {
            status: 200,
            body: { data: [{ url: /^http/ }] },
          });
        }
      }
    },
  },
  {
    name: "names the response headers that a web page of another origin may read",
    async run({ serve }) {
      const { send } = serve();
      const { headers: sent, ...init } = toInit(BODY);
      const headers = { ...Object.fromEntries(new Headers(sent)), origin: "https://shop.example" };
      const response = await send(GENERATIONS, { ...init, headers });
      await response.text();
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("access-control-expose-headers"), "x-request-id");
    },
  },
];
