import { randomUUID } from "node:crypto";

/** The facts of a request, with a new id. */
export function createFacts(caller: string) {
  return {
    id: `req_${randomUUID()}`,
    time: new Date().toISOString(),
    caller,
    group: "default",
    model: "seedream-4-5-251128",
    operation: "generate",
  } as const;
}

/** The hold of a request, within a budget that is never used up. */
export const HELD = { amount: "0.5", budget: "100000000", ttlMs: 3_600_000 } as const;

/** The rest of the record of a request, of the usual size. */
export const SETTLED = {
  state: "settled",
  channel: "ark",
  upstreamModel: "doubao-seedream-4-5-251128",
  status: 200,
  images: 1,
  charge: "0.25",
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
  derivation: {
    pricing_mode: "per-request",
    count: 1,
    count_source: "generated_images",
    model_price: "0.25",
    group_ratio: "1",
    exact: "0.25",
  },
  durationMs: 9000,
  upstreamRequestId: "021769860800000abcdef0123456789abcdef",
} as const;
