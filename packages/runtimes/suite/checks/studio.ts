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

/** Opens the page without a session, and then the link that is printed meanwhile: it leads to the page. */
async function expectLink(url: string, headers: Record<string, string>): Promise<void> {
  const lines: string[] = [];
  const { console } = globalThis;
  const error = console.error.bind(console);
  const stderr: { write?: (text: string) => unknown } | undefined = globalThis.process?.stderr;
  const write = stderr?.write?.bind(stderr);
  const keep = (text: string): boolean => lines.push(text) > 0;
  try {
    console.error = keep;
    if (write !== undefined && stderr !== undefined) stderr.write = keep;
    expectMatch(await readResponse(await fetch(url, { headers })), { status: 403, text: /in its terminal/ });
  } finally {
    console.error = error;
    if (write !== undefined && stderr !== undefined) stderr.write = write;
  }
  const query = /\?token=[\da-f]{64}/.exec(lines.join(""))?.[0];
  assert.ok(query !== undefined, `no link in ${lines.join()}`);
  const opened = await fetch(url + query, { headers, redirect: "manual" });
  assert.equal(opened.status, 303);
  const cookie = opened.headers.get("set-cookie")?.split(";")[0] ?? "";
  expectMatch(await readResponse(await fetch(url, { headers: { ...headers, cookie } })), {
    status: 200,
    text: /studio-base/,
  });
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
    name: "opens the studio without authorize for a link of this machine only, and never if the address is not known",
    async run(bench) {
      const url = serveStudio(bench, {});
      if (bench.host.runtime.startsWith("workerd")) {
        expectMatch(await readResponse(await fetch(url)), {
          status: 403,
          text: /this host does not say where a request comes from/,
        });
        return;
      }
      await expectLink(url, {});
      const proxied = await fetch(url, { headers: { "x-forwarded-for": "127.0.0.1" } });
      expectMatch(await readResponse(proxied), { status: 403, text: /came through a proxy/ });
    },
  },
  {
    name: "opens the studio for a link of the terminal, if authorize says so",
    async run(bench) {
      const headers = { "x-team": "a" };
      const url = serveStudio(bench, {
        authorize: (request) => request.headers.get("x-team") === "a" && "terminal",
      });

      await expectLink(url, headers);
      expectMatch(await readResponse(await fetch(url)), { status: 403, text: /returned neither/ });
    },
  },
];
