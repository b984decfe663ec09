import { Agent } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { open, readResponse } from "../support/http-client.js";
import { CALLER_HEADERS, GENERATIONS, SEEDREAM_BODY } from "../support/image-calls.js";
import { CALLER_KEY, type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

/** Behaviour that only a client on a socket can observe. */
export function describeConnections(host: AdapterHost, providers: () => Providers): void {
  describe("connections", () => {
    it("have no body in the response to HEAD", async () => {
      const { gateway } = startGateway(providers());
      const mounted = await mountFor(host, gateway);

      const response = await mounted.send({
        method: "HEAD",
        path: GENERATIONS,
        headers: { authorization: `Bearer ${CALLER_KEY}` },
      });

      expect(response.status).toBe(405);
      expect(response.headers["allow"]).toBe("POST");
      expect(response.text).toBe("");
    });

    it("are reused after an image and after a refusal", async () => {
      const { gateway } = startGateway(providers());
      const { url } = await mountFor(host, gateway);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      onTestFinished(() => agent.destroy());
      const exchange = async (body: unknown) => {
        const outgoing = open(url, { path: GENERATIONS, headers: CALLER_HEADERS }, agent);
        outgoing.end(JSON.stringify(body));
        const { status } = await readResponse(outgoing);
        return { status, reused: outgoing.reusedSocket };
      };

      expect(await exchange(SEEDREAM_BODY)).toEqual({ status: 200, reused: false });
      expect(await exchange({})).toEqual({ status: 400, reused: true });
      expect(await exchange(SEEDREAM_BODY)).toEqual({ status: 200, reused: true });
    });
  });
}
