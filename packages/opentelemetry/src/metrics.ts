import type { ChannelStatus, SettledRecord } from "@calotype/core";
import type { AttemptDetail } from "@calotype/core/adapter";
import type { Attributes, Context, Meter } from "@opentelemetry/api";
import { ATTRIBUTES } from "./names.js";

/** In seconds. Images take up to 15 minutes, and refusals some milliseconds. */
const DURATION_BOUNDS = [
  0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 450, 600, 900,
];

/** The bounds that the semantic conventions name. */
const TOKEN_BOUNDS = Array.from({ length: 14 }, (_, power) => 4 ** power);

const STATES = ["ready", "cooling", "probing"] as const;

/** The instruments of a gateway. */
export interface Metrics {
  /** A call has ended. The attributes say of which kind, model and provider it was. */
  callEnded(call: EndedCall, attributes: Attributes, context: Context): void;
  /** An attempt has its result. */
  attemptEnded(durationMs: number, attributes: Attributes, context: Context): void;
  cooldownBegan(detail: AttemptDetail, attributes: Attributes): void;
  /** A hold was made (1), or has ended (-1). */
  holdsChanged(change: 1 | -1, attributes: Attributes): void;
  holdEnded(attributes: Attributes): void;
  refusedByLimit(attributes: Attributes): void;
  /** Reports the state of the channels at each collection, until the function that it returns is called. */
  watchChannels(describe: () => readonly ChannelStatus[]): () => void;
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
  const seconds = { unit: "s", advice: { explicitBucketBoundaries: DURATION_BOUNDS } };
  const operations = meter.createHistogram("gen_ai.client.operation.duration", {
    description: "From the arrival of a request to the end of its response and its charge.",
    ...seconds,
  });
  const firstImages = meter.createHistogram("calotype.time_to_first_image", {
    description: "From the arrival of a request to its first image.",
    ...seconds,
  });
  const attempts = meter.createHistogram("calotype.attempt.duration", {
    description: "From sending a request to a provider to the head of its response, or to the failure.",
    ...seconds,
  });
  const tokens = meter.createHistogram("gen_ai.client.token.usage", {
    description: "The tokens that the provider reported.",
    unit: "{token}",
    advice: { explicitBucketBoundaries: TOKEN_BOUNDS },
  });
  const images = meter.createCounter("calotype.images", {
    description: "The images in responses.",
    unit: "{image}",
  });
  const charges = meter.createCounter("calotype.charge", {
    description: "The charges, in the currency of the price tables. Rounded to a float; the ledger is exact.",
    unit: "{currency}",
  });
  const openHolds = meter.createUpDownCounter("calotype.holds.open", {
    description: "The holds of calls in progress in this process.",
    unit: "{hold}",
  });
  const endedHolds = meter.createCounter("calotype.holds.ended", {
    description: "The holds that were settled or released, or whose outcome is not known.",
    unit: "{hold}",
  });
  const refusals = meter.createCounter("calotype.requests.refused", {
    description: "The requests refused by a limit, a budget or a lack of room.",
    unit: "{request}",
  });
  const cooldowns = meter.createCounter("calotype.cooldowns", {
    description: "The cooldowns that this process began or extended.",
    unit: "{cooldown}",
  });
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
      const { input, output } = readTokens(record);
      if (input !== undefined)
        tokens.record(input, { ...attributes, [ATTRIBUTES.tokenType]: "input" }, context);
      if (output !== undefined)
        tokens.record(output, { ...attributes, [ATTRIBUTES.tokenType]: "output" }, context);
    },
    attemptEnded: (durationMs, attributes, context) =>
      attempts.record(durationMs / 1000, attributes, context),
    cooldownBegan({ kind, cooldown }, attributes) {
      cooldowns.add(1, {
        ...attributes,
        [ATTRIBUTES.cooldownScope]: cooldown?.scope,
        [ATTRIBUTES.cooldownReason]: kind,
      });
    },
    holdsChanged: (change, attributes) => openHolds.add(change, attributes),
    holdEnded: (attributes) => endedHolds.add(1, attributes),
    refusedByLimit: (attributes) => refusals.add(1, attributes),
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
