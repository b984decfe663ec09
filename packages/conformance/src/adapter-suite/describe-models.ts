import { describe, expect, it } from "vitest";
import { toComparable } from "../support/comparable.js";
import type { Call } from "../support/http-client.js";
import { sendByFetch } from "../support/send-by-fetch.js";
import { CALLER_KEY, type Providers, startGateway } from "../support/test-gateway.js";
import type { AdapterHost } from "./adapter-host.js";
import { mountFor } from "./mount-for.js";

const headers = { authorization: `Bearer ${CALLER_KEY}` };
const get = (path: string, method = "GET"): Call => ({ method, path, headers });

const MODELS = {
  models: { "team/poster": { family: "seedream" }, été: { family: "seedream" } },
  billing: undefined,
};

/** The list of models, and names in a path. */
export function describeModels(host: AdapterHost, providers: () => Providers): void {
  const mount = async (basePath?: string) => {
    const { server } = providers();
    const channels = [{ id: "ark", family: "seedream", apiKey: "k", baseUrl: server.arkBaseUrl }];
    const { gateway } = startGateway(providers(), { ...MODELS, channels, basePath });
    return { gateway, mounted: await mountFor(host, gateway) };
  };

  describe("models", () => {
    it.each<[string, Call, number]>([
      ["the list", get("/v1/models"), 200],
      ["the list with a slash and a query", get("/v1/models/?limit=1"), 200],
      ["a model with an encoded name", get("/v1/models/team%2Fposter"), 200],
      ["a model with a slash in its name", get("/v1/models/team/poster"), 200],
      ["a model with a name in UTF-8", get("/v1/models/%C3%A9t%C3%A9"), 200],
      ["a model that does not exist", get("/v1/models/nothing"), 404],
      ["another method", get("/v1/models", "DELETE"), 405],
      ["a request without a key", { method: "GET", path: "/v1/models" }, 401],
    ])("give the same response to %s", async (_what, call, status) => {
      const { gateway, mounted } = await mount();

      const response = await mounted.send(call);

      expect(response.status).toBe(status);
      expect(toComparable(response)).toEqual(toComparable(await sendByFetch(gateway, call)));
    });

    it("are listed below a base path", async () => {
      const { mounted } = await mount("/ai");

      const { status, text } = await mounted.send(get("/ai/v1/models/team%2Fposter"));

      expect({ status, body: JSON.parse(text) }).toMatchObject({ status: 200, body: { id: "team/poster" } });
    });

    it("are listed for HEAD without a body", async () => {
      const { mounted } = await mount();

      const response = await mounted.send(get("/v1/models", "HEAD"));

      expect(response).toMatchObject({ status: 200, text: "" });
      expect(response.headers).toMatchObject({
        "content-type": "application/json",
        "cache-control": "no-store",
      });
    });
  });
}
