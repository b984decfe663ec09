import { createReference } from "@calotype/core/reference";
import { describe, expect, it } from "vitest";
import { toComparable } from "../support/comparable.js";
import type { Call } from "../support/http-client.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost, Mounting } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const get = (path: string, method = "GET"): Call => ({ method, path });

/** Files as the package of the page has them. */
const reference = createReference({
  page: "swagger-ui",
  read: async (path) => `/* the file ${path}, with ümlauts */`,
});

/** The page that shows the OpenAPI document. It needs no key. */
export function describeReference(host: AdapterHost, providers: () => Providers): void {
  describe("the reference page", () => {
    it.each<[string, Call, number, string]>([
      ["the page", get("/reference"), 200, '<script src="reference/page.js">'],
      ["the page with a slash", get("/reference/"), 200, '<script src="page.js">'],
      ["its script", get("/reference/page.js"), 200, "the file swagger-ui-bundle.js, with ümlauts"],
      ["its style", get("/reference/page.css"), 200, "the file swagger-ui.css"],
      ["the script that starts it", get("/reference/start.js"), 200, "SwaggerUIBundle({ url"],
      ["HEAD", get("/reference", "HEAD"), 200, ""],
      ["another method", get("/reference", "POST"), 405, '"code":"method_not_allowed"'],
      ["a file that is not part of it", get("/reference/package.json"), 404, '"code":"not_found"'],
    ])("is the same response to a request for %s", async (_what, call, status, text) => {
      const { gateway } = startGateway(providers(), { openapi: true, reference });
      const mounted = await mountFor(host, gateway);

      const response = await mounted.send(call);

      expect(response.status).toBe(status);
      expect(response.text).toContain(text);
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    const mountings: (Mounting & { basePath?: string })[] = [{ basePath: "/ai" }];
    if (host.hasMountPaths) mountings.push({ at: "/site" }, { at: "/site", basePath: "/ai" });
    it.each(mountings)("finds its files: %j", async ({ at, basePath }) => {
      const { gateway } = startGateway(providers(), { openapi: true, reference, basePath });
      const mounted = await mountFor(host, gateway, at === undefined ? {} : { at });
      const page = `http://host${at ?? ""}${basePath ?? ""}/reference`;

      const { text } = await mounted.send(get(new URL(page).pathname));
      const links = [...text.matchAll(/(?:src|href)="([^":]+)"/g)].map(
        ([, link = ""]) => new URL(link, page),
      );
      const found = await Promise.all(links.map(({ pathname }) => mounted.send(get(pathname))));

      expect(found.map(({ status, headers }) => [status, headers["content-type"]])).toEqual([
        [200, "text/css; charset=utf-8"],
        [200, "text/javascript; charset=utf-8"],
        [200, "text/javascript; charset=utf-8"],
      ]);
    });
  });
}
