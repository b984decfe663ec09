import assert from "node:assert/strict";
import { createStudio, type StudioOptions } from "@calotype/studio";
import { type Bench, CALLER_KEY, readResponse, SEEDREAM } from "../bench.ts";
import type { Check } from "../check.ts";
import { expectMatch } from "../expect.ts";

const OWN_PAGE = { "x-calotype-studio": "1", "sec-fetch-site": "same-origin" };

/** Serves a studio beside a gateway, and returns its address. */
function serveStudio({ host, serve }: Bench, options: StudioOptions): string {
  const { gateway } = serve();
  host.gateways.set("studio", createStudio(gateway, options));
  return `${host.origin}/studio`;
}

/** The page for the operator. */
export const studio: readonly Check[] = [
  {
    name: "serves the studio to those whom authorize lets in, and makes an image there",
    async run(bench) {
      const url = serveStudio(bench, {
        authorize: ({ headers }) => (headers.get("cookie") === "role=admin" ? "admin" : false),
      });
      const headers = { cookie: "role=admin" };

      expectMatch(await readResponse(await fetch(url)), { status: 403, text: /authorize returned neither/ });
      const { text } = await readResponse(await fetch(url, { headers }));
      const files = [...text.matchAll(/(?:src|href)="(\/studio\/assets\/[^"]+)"/g)];
      assert.ok(files.length > 1, text);
      for (const [, file] of files) {
        const init = { headers: { ...headers, "accept-encoding": "gzip" } };
        const response = await readResponse(await fetch(bench.host.origin + file, init));
        assert.equal(response.status, 200);
        // Bytes that were compressed twice are no UTF-8.
        assert.ok(response.text.length > 100 && !response.text.includes("\uFFFD"), `${file} is not text`);
      }
      expectMatch(await readResponse(await fetch(`${url}/api/session`, { headers })), {
        status: 200,
        body: { role: "admin", access: "authorize" },
      });
      const made = await fetch(`${url}/api/images/generations`, {
        method: "POST",
        headers: {
          ...headers,
          ...OWN_PAGE,
          "content-type": "application/json",
          "x-calotype-studio-key": CALLER_KEY,
        },
        body: JSON.stringify({ model: SEEDREAM, prompt: "a fox", size: "1K" }),
      });
      expectMatch(await readResponse(made), { status: 200, body: { data: [{ b64_json: /^\S+$/ }] } });
    },
  },
  {
    name: "opens the studio without authorize for this machine only, and never if the address is not known",
    async run(bench) {
      const url = serveStudio(bench, {});

      const local = await readResponse(await fetch(url));
      const proxied = await readResponse(await fetch(url, { headers: { "x-forwarded-for": "127.0.0.1" } }));

      if (bench.host.runtime.startsWith("workerd")) {
        expectMatch(local, { status: 403, text: /this host does not say where a request comes from/ });
      } else {
        expectMatch(local, { status: 200, text: /studio-base/ });
        expectMatch(proxied, { status: 403, text: /came through a proxy/ });
      }
    },
  },
];
