import type { Commit } from "../billing/commit.js";
import type { Channel } from "../channels/channel.js";
import { createReasonMask, type ParsedResponse } from "../upstream/attempt.js";
import type { UpstreamSuccess } from "../upstream/dispatch.js";
import { MAX_OUTLINE_BYTES } from "../util/response-bounds.js";
import type { Call, CallParts } from "./call.js";
import { createDelivery } from "./create-delivery.js";
import type { EarlyImages } from "./early-images.js";
import { ImageBudget } from "./image-budget.js";
import type { ImageDelivery } from "./image-delivery.js";
import { EventLayout, JsonLayout } from "./image-parts.js";
import { type JsonReader, ScanningReader, WholeReader } from "./json-reader.js";
import { OpenAiEvents } from "./openai-events.js";
import type { PieceOutput } from "./pieces.js";

/** A longer response is relayed as it arrives, unless it is stored for a repeat of the request. */
const MAX_HELD_BYTES = 64 * 1024;
/** A JSON response that is being read. */
export interface Reading {
  readonly parts: CallParts;
  readonly call: Call;
  readonly commit: Commit;
  readonly success: UpstreamSuccess;
  readonly reader: JsonReader;
  readonly isNative: boolean;
  /** Writes the response as the events of OpenAI's images API. `undefined`: it is JSON. */
  readonly events: OpenAiEvents | undefined;
  /** What of the response is held. Infinity if its family can only read a whole response. */
  readonly maxHeldBytes: number;
  readonly delivery: ImageDelivery;
  /** How its pieces are written. */
  readonly output: PieceOutput;
}

/**
 * Begins to read the JSON response of a provider.
 *
 * @param parsed the response, if it was parsed before
 */
export function createReading(
  parts: CallParts,
  call: Call,
  commit: Commit,
  success: UpstreamSuccess,
  parsed?: ParsedResponse,
): Reading {
  const { request } = call;
  const isNative = request.operation === "native";
  const isEvents = request.stream && request.streamFormat === "openai";
  const events = isEvents ? new OpenAiEvents(request.operation, Math.floor(parts.now() / 1000)) : undefined;
  const delivery = createDelivery(parts, call, success.channel, isNative);
  const { opensImages, early } = delivery;
  const reader = openReader(parts, call, success, { parsed, events, opensImages, early });
  return {
    parts,
    call,
    commit,
    success,
    reader,
    isNative,
    events,
    maxHeldBytes: findMaxHeldBytes(call, success.channel, { events, delivery }),
    delivery,
    output: {
      delivery,
      isNative,
      events,
      budget: new ImageBudget(Math.max(parts.maxHeldImageBytes, call.keptBytes)),
      layout: events === undefined ? new JsonLayout() : new EventLayout(events, () => true),
    },
  };
}

/**
 * A family that can only read whole responses needs all of it. So does the operator's function in JSON: if it refuses every
 * image, the response is an error.
 */
function findMaxHeldBytes(
  { keptBytes }: Call,
  { dialect }: Channel,
  { events, delivery }: { readonly events: OpenAiEvents | undefined; readonly delivery: ImageDelivery },
): number {
  const mayBeError = delivery.holdsImages && events === undefined;
  if (dialect.responseShape === undefined || mayBeError) return Infinity;
  return Math.max(MAX_HELD_BYTES, events === undefined ? keptBytes : 0);
}

/** What {@link openReader} needs besides the call and its response. */
export interface OpenReaderOptions {
  /** The response, if it was parsed before. */
  readonly parsed?: ParsedResponse | undefined;
  /** Writes the events of OpenAI's images API. `undefined`: the response is JSON. */
  readonly events?: OpenAiEvents | undefined;
  /** True if every image is handed over to be stored. */
  readonly opensImages: boolean;
  /** Stores base64 while it arrives, before it is known whether it is an image. Default: it is held. */
  readonly early?: EarlyImages | undefined;
}

/** Opens a reader for the response of a provider. */
export function openReader(
  { mask, now, maxResponseBytes }: Pick<CallParts, "mask" | "now" | "maxResponseBytes">,
  { request, model }: Pick<Call, "request" | "model">,
  { channel, response, sentTo }: UpstreamSuccess,
  { parsed, events, opensImages, early }: OpenReaderOptions,
): JsonReader {
  const { dialect } = channel;
  const isNative = request.operation === "native";
  const mayHaveBase64 = dialect.delivers.includes("b64_json");
  const options = {
    response,
    maxBytes: mayHaveBase64 ? maxResponseBytes : Math.min(maxResponseBytes, MAX_OUTLINE_BYTES),
    now: Math.floor(now() / 1000),
    isNative,
    events,
    opensImages,
    early,
    convertsLinks: !isNative && request.responseFormat === "b64_json",
    mask: createReasonMask(mask, sentTo.upstreamModel, request),
  };
  const shape = dialect.responseShape;
  return shape === undefined || parsed !== undefined
    ? new WholeReader(dialect, request, options, parsed)
    : new ScanningReader(shape, model.name, options);
}
