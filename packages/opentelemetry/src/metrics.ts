import type { SettledRecord } from "@calotype/core";
import type { AttemptDetail } from "@calotype/core/adapter";
import type { ChannelState } from "@calotype/core/operator";
import type { Attributes, Context, Counter, Histogram, Meter } from "@opentelemetry/api";
import { ATTRIBUTES } from "./names.js";

/** In seconds. Images take up to 15 minutes, and refusals some milliseconds. */
const DURATION_BOUNDS = [
  0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900,
];

/** The bounds that the semantic conventions name. */
const TOKEN_BOUNDS = Array.from({ length: 14 }, (_, power) => 4 ** power);

const STATES = ["ready", "cooling", "probing", "paused"] as const;

/** The instruments of a gateway. */
export interface Metrics {
  /** A call has ended. The attributes say of which kind, model and provider it was. */
  callEnded(call: EndedCall, attributes: Attributes, context: Context): void;
  /** An attempt has its result. */
  attemptEnded(durationMs: number, attributes: Attributes, context: Context): void;
  cooldownBegan(detail: AttemptDetail, attributes: Attributes, context: Context): void;
  /** A hold was made (1), or has ended (-1). */
  holdsChanged(change: 1 | -1, attributes: Attributes, context: Context): void;
  holdEnded(attributes: Attributes, context: Context): void;
  refusedByLimit(attributes: Attributes, context: Context): void;
  /** Reports the state of the channels at each collection, until the function that it returns is called. */
  watchChannels(describe: () => readonly ChannelState[]): () => void;
}

/** What the metrics need of a call that has ended. */
interface EndedCall {
  readonly durationMs: number;
  /** `undefined` if no image came. */
  readonly firstImageMs: number | undefined;
  /** Set if the call was charged. */
  readonly record: SettledRecord | undefined;
}

/** Creates the instruments. They are described in docs/telemetry.md. */
export function createMetrics(meter: Meter): Metrics {
  const inSeconds = (name: string, description: string): Histogram => {
    const advice = { explicitBucketBoundaries: DURATION_BOUNDS };
    return meter.createHistogram(name, { description, unit: "s", advice });
  };
  const counter = (name: string, unit: string, description: string): Counter =>
    meter.createCounter(name, { description, unit: `{${unit}}` });
  const operations = inSeconds(
    "gen_ai.client.operation.duration",
    "From the arrival of a request to the end of its response and its charge.",
  );
  const firstImages = inSeconds(
    "calotype.time_to_first_image",
    "From the arrival of a request to its first image.",
  );
  const attempts = inSeconds(
    "calotype.attempt.duration",
    "From sending a request to a provider to the head of its response, or to the failure.",
  );
  const tokens = meter.createHistogram("gen_ai.client.token.usage", {
    description: "The tokens that the provider reported.",
    unit: "{token}",
    advice: { explicitBucketBoundaries: TOKEN_BOUNDS },
  });
  const images = counter("calotype.images", "image", "The images in responses.");
  const charges = counter(
    "calotype.charge",
    "currency",
    "The charges, in the currency of the price tables. Rounded to a float; the ledger is exact.",
  );
  const costs = counter(
    "calotype.cost",
    "currency",
    "What the operator pays, of the calls whose cost is known. Rounded to a float; the ledger is exact.",
  );
  const openHolds = meter.createUpDownCounter("calotype.holds.open", {
    description: "The holds of calls in progress in this process.",
    unit: "{hold}",
  });
  const endedHolds = counter(
    "calotype.holds.ended",
    "hold",
    "The holds that were settled or released, or whose outcome is not known.",
  );
  const refusals = counter(
    "calotype.requests.refused",
    "request",
    "The requests refused by a limit, a budget or a lack of room.",
  );
  const cooldowns = counter(
    "calotype.cooldowns",
    "cooldown",
    "The cooldowns that this process began or extended.",
  );
  const channels = meter.createObservableGauge("calotype.channel.state", {
    description: "1 for the state that the channel has, 0 for the others.",
  });
  return {
    callEnded({ durationMs, firstImageMs, record }, attributes, context) {
      operations.record(durationMs / 1000, attributes, context);
      if (record === undefined) return;
      if (firstImageMs !== undefined && record.images > 0) {
        firstImages.record(firstImageMs / 1000, attributes, context);
      }
      if (record.images > 0) images.add(record.images, attributes, context);
      const charge = Number(record.charge ?? 0);
      if (charge > 0) charges.add(charge, attributes, context);
      const cost = Number(record.cost ?? 0);
      if (cost > 0) costs.add(cost, attributes, context);
      for (const [type, count] of Object.entries(readTokens(record))) {
        if (count !== undefined)
          tokens.record(count, { ...attributes, [ATTRIBUTES.tokenType]: type }, context);
      }
    },
    attemptEnded: (durationMs, attributes, context) =>
      attempts.record(durationMs / 1000, attributes, context),
    cooldownBegan({ kind, cooldown }, attributes, context) {
      const began = {
        ...attributes,
        [ATTRIBUTES.cooldownScope]: cooldown?.scope,
        [ATTRIBUTES.cooldownReason]: kind,
      };
      cooldowns.add(1, began, context);
    },
    holdsChanged: (change, attributes, context) => openHolds.add(change, attributes, context),
    holdEnded: (attributes, context) => endedHolds.add(1, attributes, context),
    refusedByLimit: (attributes, context) => refusals.add(1, attributes, context),
    watchChannels(describe) {
      const observe: Parameters<typeof channels.addCallback>[0] = (result) => {
        for (const { id, state } of describe()) {
          for (const other of STATES) {
            const attributes = { [ATTRIBUTES.channel]: id, [ATTRIBUTES.channelState]: other };
            result.observe(state === other ? 1 : 0, attributes);
          }
        }
      };
      channels.addCallback(observe);
      return () => channels.removeCallback(observe);
    },
  };
}

/** The tokens that a provider reported. `undefined`: it reported none of this kind. */
export function readTokens({ usage }: Pick<SettledRecord, "usage">): {
  readonly input: number | undefined;
  readonly output: number | undefined;
} {
  if (usage === undefined) return { input: undefined, output: undefined };
  const inputs = [usage.input_text_tokens, usage.input_image_tokens, usage.cached_input_tokens].filter(
    (count) => count !== undefined,
  );
  return {
    input: inputs.length === 0 ? undefined : inputs.reduce((sum, count) => sum + count, 0),
    output: usage.output_tokens,
  };
}
