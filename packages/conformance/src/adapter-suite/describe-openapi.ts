import { describe, expect, it } from "vitest";
import { toComparable } from "../support/comparable.js";
import type { Call } from "../support/http-client.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost, Mounting } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const get = (path: string, method = "GET"): Call => ({ method, path });

/** The OpenAPI document, which needs no key. */
export function describeOpenApi(host: AdapterHost, providers: () => Providers): void {
  describe("the OpenAPI document", () => {
    it.each<[string, Call, number, string]>([
      ["a request", get("/openapi.json"), 200, '"openapi":"3.1.0"'],
      ["HEAD", get("/openapi.json", "HEAD"), 200, ""],
      ["another method", get("/openapi.json", "POST"), 405, '"code":"method_not_allowed"'],
    ])("is the same response to %s", async (_what, call, status, text) => {
      const { gateway } = startGateway(providers(), { openapi: true });
      const mounted = await mountFor(host, gateway);

      const response = await mounted.send(call);

      expect(response.status).toBe(status);
      expect(response.text).toContain(text);
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    const mountings: (Mounting & { basePath?: string })[] = [{}, { basePath: "/ai" }];
    if (host.hasMountPaths) mountings.push({ at: "/site" }, { at: "/site", basePath: "/ai" });
    it.each(mountings)("names the place of the gateway: %j", async ({ at, basePath }) => {
      const { gateway } = startGateway(providers(), { openapi: true, basePath });
      const mounted = await mountFor(host, gateway, at === undefined ? {} : { at });
      const place = `${at ?? ""}${basePath ?? ""}`;

      const { status, text } = await mounted.send(get(`${place}/openapi.json`));

      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({ servers: [{ url: place === "" ? "/" : place }] });
    });

    it("may be one of the operator, with servers of its own", async () => {
      const openapi = {
        openapi: "3.1.0",
        info: { title: "Posters" },
        servers: [{ url: "https://example.com" }],
      };
      const { gateway } = startGateway(providers(), { openapi });
      const mounted = await mountFor(host, gateway);

      const { text } = await mounted.send(get("/openapi.json"));

      expect(JSON.parse(text)).toEqual(openapi);
    });
  });
}
