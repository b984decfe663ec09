import { describe, expect, it } from "vitest";
import { toComparable } from "../support/comparable.js";
import type { Call } from "../support/http-client.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import { type AdapterHost, type Mounting, OWN_RESPONSE } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const get = (path: string, method = "GET"): Call => ({ method, path });
const OK = JSON.stringify({ ledger: "ok", store: "ok", channels: "ok" });

/** The endpoint of the health, which needs no key. */
export function describeHealth(host: AdapterHost, providers: () => Providers): void {
  describe("the health", () => {
    it.each<[string, Call, number, string]>([
      ["a request", get("/healthz"), 200, OK],
      ["a request with a slash and a query", get("/healthz/?x=1"), 200, OK],
      ["HEAD", get("/healthz", "HEAD"), 200, ""],
      ["another method", get("/healthz", "DELETE"), 405, '"code":"method_not_allowed"'],
    ])("is the same response to %s", async (_what, call, status, text) => {
      const { gateway } = startGateway(providers(), { healthz: true });
      const mounted = await mountFor(host, gateway);

      const response = await mounted.send(call);

      expect(response.status).toBe(status);
      expect(response.text).toContain(text);
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    const mountings: (Mounting & { basePath?: string })[] = [{ basePath: "/ai" }];
    if (host.hasMountPaths) mountings.push({ at: "/site" }, { at: "/site", basePath: "/ai" });
    it.each(mountings)("is found below the gateway's path: %j", async ({ at, basePath }) => {
      const { gateway } = startGateway(providers(), { healthz: true, basePath });
      const mounted = await mountFor(host, gateway, at === undefined ? {} : { at });

      const { status, text } = await mounted.send(get(`${at ?? ""}${basePath ?? ""}/healthz`));

      expect({ status, text }).toEqual({ status: 200, text: OK });
      expect((await mounted.send(get("/healthz"))).text).toContain(
        host.otherPaths === "own-handler" ? OWN_RESPONSE : '"code":"not_found"',
      );
    });

    it("is left to the host without the option, and below a path of the host", async () => {
      const without = await mountFor(host, startGateway(providers()).gateway);
      const { gateway } = startGateway(providers(), { healthz: true });
      const mounted = await mountFor(host, gateway);

      expect((await without.send(get("/healthz"))).text).not.toContain("ledger");
      const below = await mounted.send(get("/shop/healthz"));
      // A host without routes of its own has given every path to the gateway.
      expect(below.text).toBe(host.otherPaths === "own-handler" ? OWN_RESPONSE : OK);
    });

    it("is a 503 when the gateway closes", async () => {
      const { gateway } = startGateway(providers(), { healthz: true });
      const mounted = await mountFor(host, gateway);
      await gateway.close();

      const response = await mounted.send(get("/healthz"));

      expect(response).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    });
  });
}
