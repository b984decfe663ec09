import { describe, expect, it } from "vitest";
import { jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import { type AdapterHost, OWN_RESPONSE } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const CALL = jsonCall(SEEDREAM_BODY);

const ELSEWHERE = {
  "own-handler": { status: 200, text: OWN_RESPONSE },
  "gateway-404": { status: 404, text: expect.stringContaining('"code":"not_found"') },
};

/** Which paths the gateway serves, and who responds to the others. */
export function describePaths(host: AdapterHost, providers: () => Providers): void {
  describe("paths", () => {
    it.each([
      ["GET", "/health"],
      ["POST", "/"],
      ["POST", "/v1/images"],
      ["POST", "/v1/images/generations/extra"],
      ["POST", "/V1/IMAGES/GENERATIONS"],
    ])("does not respond to %s %s", async (method, path) => {
      const { gateway } = startGateway(providers());
      const { send } = await mountFor(host, gateway);

      const response = await send({ ...CALL, method, path, ...(method === "GET" && { body: undefined }) });

      expect(response).toMatchObject(ELSEWHERE[host.otherPaths]);
      expect(providers().emulator.requests).toEqual([]);
    });

    it.each(["/v1/images/generations/", "/v1//images/generations", "/shop/v1/images/generations"])(
      "serves POST %s",
      async (path) => {
        const { gateway } = startGateway(providers());
        const { send } = await mountFor(host, gateway);

        expect((await send({ ...CALL, path })).status).toBe(200);
        expect(providers().emulator.requests).toHaveLength(1);
      },
    );

    it("tells a web page of another origin which response headers it may read", async () => {
      const { gateway } = startGateway(providers());
      const { send } = await mountFor(host, gateway);
      const headers = { ...CALL.headers, origin: "https://shop.example" };

      const made = await send({ ...CALL, headers });
      const refused = await send({ ...CALL, headers, body: "{}" });
      const withoutOrigin = await send(CALL);

      expect(made.headers["access-control-expose-headers"]).toBe("x-request-id");
      expect(refused.status).toBe(400);
      expect(refused.headers["access-control-expose-headers"]).toBe("x-request-id");
      expect(withoutOrigin.headers).not.toHaveProperty("access-control-expose-headers");
    });

    it("serves below its base path only", async () => {
      const { gateway } = startGateway(providers(), { basePath: "/ai" });
      const { send } = await mountFor(host, gateway);

      const below = await send({ ...CALL, path: "/ai/v1/images/generations" });
      const beside = await send(CALL);

      expect(below.headers["content-type"]).toBe("application/json");
      expect(below.status).toBe(200);
      expect(providers().emulator.requests).toHaveLength(1);
      expect(beside.text).not.toContain('"data"');
    });
  });
}
