import { describe, expect, it } from "vitest";
import type { Call } from "../support/http-client.js";
import { GENERATIONS, jsonCall, SEEDREAM_BODY } from "../support/image-calls.js";
import { type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const SHOP = "https://shop.example";

const page = (call: Call, origin = SHOP): Call => ({ ...call, headers: { ...call.headers, origin } });

const preflight = (path: string, origin = SHOP): Call => ({
  method: "OPTIONS",
  path,
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-os",
  },
});

/** Requests of web pages. */
export function describeCors(host: AdapterHost, providers: () => Providers): void {
  const mount = async () => {
    const { gateway } = startGateway(providers(), { cors: { origins: [SHOP] } });
    return mountFor(host, gateway);
  };

  describe("with the option cors", () => {
    it.each([GENERATIONS, "/v1/images/edits", "/v1/models"])(
      "a preflight request for %s is allowed without a key",
      async (path) => {
        const { send } = await mount();

        const response = await send(preflight(path));

        expect(response).toMatchObject({ status: 204, text: "" });
        expect(response.headers).toMatchObject({
          "access-control-allow-origin": SHOP,
          "access-control-allow-methods": "GET, HEAD, POST",
          "access-control-allow-headers": expect.stringMatching(
            /authorization.*idempotency-key.*x-stainless-os/,
          ),
          "access-control-max-age": "600",
        });
        expect(response.headers).not.toHaveProperty("content-length");
      },
    );

    it("a preflight request of another origin is not allowed", async () => {
      const { send } = await mount();

      const response = await send(preflight(GENERATIONS, "https://evil.example"));

      expect(response.status).toBe(405);
      expect(response.headers).not.toHaveProperty("access-control-allow-origin");
    });

    it.each<[string, Call, number]>([
      ["an image", jsonCall(SEEDREAM_BODY), 200],
      ["a stream", jsonCall({ ...SEEDREAM_BODY, stream: true }), 200],
      ["a refused key", jsonCall(SEEDREAM_BODY, { authorization: "Bearer wrong" }), 401],
      ["a refused request", jsonCall({}), 400],
      ["the list of models", { method: "GET", path: "/v1/models", headers: jsonCall({}).headers ?? {} }, 200],
    ])("a page can read the response: %s", async (_what, call, status) => {
      const { send } = await mount();

      const response = await send(page(call));
      const ofAnother = await send(page(call, "https://evil.example"));

      expect(response.status).toBe(status);
      expect(response.headers["access-control-allow-origin"]).toBe(SHOP);
      expect(response.headers["access-control-expose-headers"]).toContain("x-request-id");
      expect(ofAnother.status).toBe(status);
      expect(ofAnother.headers).not.toHaveProperty("access-control-allow-origin");
    });

    it("responses say that they depend on the origin", async () => {
      const { send } = await mount();

      const vary = (await send(page(jsonCall({})))).headers["vary"] ?? "";

      expect(vary.toLowerCase().split(/, */)).toContain("origin");
    });
  });
}
