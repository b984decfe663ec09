import type { GatewayOptions } from "@calotype/core";
import { fluxFamily } from "./flux-family.ts";

/** The options of the test's gateways: one model, and one channel at this base URL. */
export function toOptions(baseUrl: string): GatewayOptions {
  return {
    families: [fluxFamily],
    models: { flux: { family: "flux" } },
    channels: [
      {
        id: "bfl",
        family: "flux",
        apiKey: "canary-4f0c21aa",
        baseUrl,
        modelMapping: { flux: "flux-2-pro" },
      },
    ],
    callers: [{ id: "tester", key: "caller-canary-30c55b02" }],
    billing: { model_details: { flux: { pricing_mode: "per-request", model_price: "0.05" } } },
    logger: { warn: () => undefined, error: () => undefined },
  };
}
