import { readFileSync } from "node:fs";
import type { CallerOptions, GatewayOptions } from "@calotype/core";

/**
 * The options that all gateways of the fleet have. The environment: CALOTYPE_API_KEY, the key of the only caller, or CALLERS_FILE,
 * a JSON file with a list of callers; ARK_API_KEY, ARK_BASE_URL.
 */
export function readOptions(env: Readonly<Record<string, string | undefined>>) {
  const { CALLERS_FILE, CALOTYPE_API_KEY } = env;
  const callers: readonly CallerOptions[] = CALLERS_FILE
    ? JSON.parse(readFileSync(CALLERS_FILE, "utf8"))
    : [{ id: "default", key: CALOTYPE_API_KEY || undefined }];
  return {
    models: { "seedream-4-5-251128": { family: "seedream" }, "seedream-4-0-250828": { family: "seedream" } },
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: env["ARK_API_KEY"] || "none",
        baseUrl: env["ARK_BASE_URL"] || undefined,
        modelMapping: { "seedream-*": "doubao-seedream-*" },
      },
    ],
    callers,
    billing: {
      model_details: {
        "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" },
        "seedream-4-0-250828": { pricing_mode: "per-request", model_price: "0.2" },
      },
    },
    limits: { requestsPerMinute: 600, concurrent: 50 },
    onUsage: (record) => console.log(JSON.stringify(record)),
  } satisfies GatewayOptions;
}
