import { createGateway, type Gateway, type GatewayOptions, hashApiKey } from "@calotype/core";
import { SERVICE_PREFIX, UPSTREAM_PREFIX } from "../payloads.ts";
import type { TargetOptions } from "./target-options.ts";

const MODELS = `${SERVICE_PREFIX}*`;
const PLENTY = 1_000_000_000;

/**
 * Creates a gateway as users have it: default options, hashed keys, limits and budgets that never refuse, a ledger in memory,
 * the health of channels, and a usage record for each request.
 */
export function createCalotype(
  { upstream, callers, channels }: TargetOptions,
  more: Partial<GatewayOptions> = {},
): Gateway {
  let images = 0;
  return createGateway({
    models: { [MODELS]: { family: "seedream" } },
    channels: Array.from({ length: channels }, (_, index) => ({
      id: `channel-${index}`,
      family: "seedream",
      apiKey: `upstream-key-${index}`,
      baseUrl: `${upstream}/api/v3`,
      modelMapping: { [MODELS]: `${UPSTREAM_PREFIX}*` },
    })),
    callers: Array.from({ length: callers }, (_, index) => ({
      id: `caller-${index}`,
      hash: hashApiKey(`sk-bench-${index}`),
      budget: PLENTY,
    })),
    limits: { requestsPerMinute: PLENTY, imagesPerMinute: PLENTY, concurrent: 100_000 },
    billing: {
      model_details: {
        [MODELS]: { pricing_mode: "per-token", output_token_price: "3.75", decimal_places: 6 },
      },
      group_ratio: { default: "1.25" },
    },
    onUsage: (record) => {
      images += record.charge === null ? 0 : 1;
      return images;
    },
    ...more,
  });
}
