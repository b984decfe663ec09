import assert from "node:assert/strict";
import { openApiDocument } from "@calotype/core/openapi";
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
    name: "says without a key whether its parts work, also to many clients at once",
    async run({ serve }) {
      const { send } = serve({ healthz: true });
      for (const response of await Promise.all([1, 2, 3, 4].map(() => send("/healthz", { method: "GET" })))) {
        assert.equal(response.status, 200);
        assert.deepEqual(await response.json(), { ledger: "ok", store: "ok", channels: "ok" });
      }
    },
  },
  {
    name: "serves the OpenAPI document that is passed as an option",
    async run({ serve }) {
      const response = await serve({ openapi: openApiDocument }).send("/openapi.json", { method: "GET" });
      assert.equal(response.status, 200);
      assert.ok((await response.text()).includes(`"${GENERATIONS}"`));
    },
  },
  {
    name: "loads the OpenAPI document by itself, and on Workers asks for it at startup",
    async run({ serve, host }) {
      if (host.runtime.startsWith("workerd")) {
        assert.throws(() => serve({ openapi: true }), /openapi must be the document on Cloudflare Workers/);
        return;
      }
      const response = await serve({ openapi: true }).send("/openapi.json", { method: "GET" });
      assert.equal(response.status, 200);
      assert.match(await response.text(), /"openapi":"3\.1\.0"/);
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
