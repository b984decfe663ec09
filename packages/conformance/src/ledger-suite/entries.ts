import type { ReleasedRecord, SettledRecord, UnresolvedRecord } from "@calotype/core/billing";
import type { HoldRecord } from "@calotype/core/stores";
import { timeAfterStart } from "./clock.js";

/** The default duration of the holds in the tests. */
export const HOLD_MS = 60_000;

/** A hold with default fields. */
export function holdOf(rest: Partial<HoldRecord> & Pick<HoldRecord, "id">): HoldRecord {
  return {
    time: timeAfterStart(0),
    caller: "me",
    group: "default",
    model: "seedream",
    operation: "generate",
    amount: "0.5",
    ttlMs: HOLD_MS,
    ...rest,
  };
}

/** A settled record without optional fields. */
export function plainRecordOf(rest: Partial<SettledRecord> & Pick<SettledRecord, "id">): SettledRecord {
  return {
    state: "settled",
    time: timeAfterStart(0),
    caller: "me",
    group: "default",
    model: "seedream",
    operation: "generate",
    channel: "ark-1",
    upstreamModel: "ep-1",
    status: 200,
    images: 1,
    charge: "0.3",
    durationMs: 1_500,
    ...rest,
  };
}

/** The settled record of a successful request. */
export function recordOf(rest: Partial<SettledRecord> & Pick<SettledRecord, "id">): SettledRecord {
  return plainRecordOf({
    usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
    derivation: {
      pricing_mode: "per-request",
      count: 1,
      count_source: "generated_images",
      model_price: "0.3",
      group_ratio: "1",
      exact: "0.3",
    },
    upstreamRequestId: "0217",
    ...rest,
  });
}

/** The settled record of a request with prices by dimension, and all that a provider may report. */
export function itemizedRecordOf(rest: Partial<SettledRecord> & Pick<SettledRecord, "id">): SettledRecord {
  return plainRecordOf({
    usage: { generated_images: 1, input_images: 2, tool_usage: { web_search: 1 } },
    reportedPixels: 16_777_216,
    marks: ["marked", "c2pa"],
    charge: "0.06",
    derivation: {
      pricing_mode: "per-request",
      group_ratio: "1.2",
      lines: [
        {
          what: "image",
          count: 1,
          source: "generated_images",
          pixels: 1_048_576,
          pixels_source: "request",
          unit_price: "0.045",
          amount: "0.054",
        },
        { what: "reference_image", count: 2, source: "request", unit_price: "0.003", amount: "0.0072" },
        { what: "rounding", amount: "-0.0012" },
      ],
      exact: "0.0612",
      decimal_places: 2,
    },
    ...rest,
  });
}

/** The record that a sweep makes of {@link holdOf}. */
export function unresolvedOf(
  rest: Partial<UnresolvedRecord> & Pick<UnresolvedRecord, "id">,
): UnresolvedRecord {
  return {
    state: "unresolved",
    time: timeAfterStart(0),
    caller: "me",
    group: "default",
    model: "seedream",
    operation: "generate",
    images: 0,
    charge: "0",
    held: "0.5",
    ...rest,
  };
}

/** The record that a late release makes of {@link unresolvedOf}. */
export function releasedOf(
  rest: Omit<Partial<ReleasedRecord>, "state"> & Pick<ReleasedRecord, "id">,
): ReleasedRecord {
  return { ...unresolvedOf(rest), state: "released" };
}
