import type { Channel, Route } from "../channels/channel.js";
import type { ChannelHealth } from "../channels/health.js";
import { GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import type { AttemptFailure } from "../families/family.js";
import type { Logger } from "../logger.js";
import { findModelLimits, type ModelOptions } from "../models/resolve-model.js";
import type { SecretMask } from "../redact.js";
import type { ImageRequest, ImageResult, Usage } from "../types.js";
import type { JsonObject } from "../util/json.js";
import { createSeriesMap, isSeries } from "../util/series.js";
import { sendAttempt } from "./attempt.js";
import { findNoImageError, maskFailure } from "./failure.js";
import { readJsonResponse } from "./read.js";
import type { Transport, TransportResponse } from "./transport.js";

/** What `gateway.test` found. */
export interface ChannelProbe {
  /** The channel's id. */
  readonly channel: string;
  /** The service model. */
  readonly model: string;
  readonly upstreamModel: string;
  /** True when each key made an image. */
  readonly ok: boolean;
  readonly keys: readonly KeyProbe[];
}

/** What a test needs of the gateway. */
export interface ChannelProbeParts extends KeyProbeParts {
  readonly models: Readonly<Record<string, ModelOptions>>;
}

/**
 * Asks a channel for one picture with each of its keys, one after another. A success ends a
 * cooldown, a failure counts like that of a request. The provider is paid for each picture.
 *
 * @throws GatewayError `model_not_found` when the channel does not serve the model,
 * `invalid_request_error` when none can be chosen, or for wrong fields
 */
export async function probeChannel(
  channel: Channel,
  options: ChannelProbeOptions,
  parts: ChannelProbeParts,
): Promise<ChannelProbe> {
  const request = createTestRequest(channel, parts.models, options);
  const keys: KeyProbe[] = [];
  const upstreamModel = channel.toUpstreamModel(request.model) ?? request.model;
  for (const key of channel.keys) keys.push(await probeKey({ channel, key, upstreamModel }, request, parts));
  return {
    channel: channel.id,
    model: request.model,
    upstreamModel,
    ok: keys.every(({ ok }) => ok),
    keys,
  };
}

/** How one key of a channel fared in a test. */
export type KeyProbe =
  | {
      readonly ok: true;
      /** Its place in `apiKey`, from 0. */
      readonly index: number;
      readonly images: number;
      readonly usage: Usage | undefined;
      readonly durationMs: number;
    }
  | {
      readonly ok: false;
      readonly index: number;
      /** As in the channel's status, or `content`: the provider is well, and made no image of the request. */
      readonly reason: string;
      /** The HTTP status, when the provider answered. */
      readonly status: number | undefined;
      /** The provider's error code, when it gave one. */
      readonly code: string | undefined;
      /** What the provider said, or what became of the connection. Keys are masked. */
      readonly message: string | undefined;
      readonly durationMs: number;
    };

/** What the test of a key needs of the gateway. */
interface KeyProbeParts {
  readonly transport: Transport;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly health: ChannelHealth;
  /** Takes keys out of what a provider said. */
  readonly mask: SecretMask;
  readonly maxResponseBytes: number;
}

/** Sends the request with one key, and tells the health of the key and its channel how it went. */
async function probeKey(route: Route, request: ImageRequest, parts: KeyProbeParts): Promise<KeyProbe> {
  const { index } = route.key;
  const startedAt = parts.now();
  const begun = parts.health.begin(route, true);
  const outcome = await tryKey(route, request, parts);
  const durationMs = parts.now() - startedAt;
  if (outcome.failure !== undefined) {
    begun.failed(outcome.failure);
    const { kind, status, code, message, cause } = maskFailure(outcome.failure, parts.mask);
    const shown = message ?? parts.mask(findMessage(cause));
    return { ok: false, index, reason: kind, status, code, message: shown || undefined, durationMs };
  }
  begun.succeeded();
  const { images, usage } = outcome.result;
  return { ok: true, index, images: images.length, usage, durationMs };
}

type KeyOutcome =
  | { readonly result: ImageResult; readonly failure?: undefined }
  | { readonly failure: AttemptFailure };

async function tryKey(route: Route, request: ImageRequest, parts: KeyProbeParts): Promise<KeyOutcome> {
  const { channel } = route;
  const sent = await sendAttempt(route, request, parts);
  if (sent.failure !== undefined) return { failure: sent.failure };
  const { response } = sent;
  try {
    const { value } = await readJsonResponse(response, { maxBytes: parts.maxResponseBytes });
    const result = channel.family.fromUpstream(value, request);
    const error = findNoImageError(result.images.length, result);
    return error === undefined ? { result } : { failure: toFailure(error, response) };
  } catch (cause) {
    const kind = isGatewayError(cause) && cause.code === "upstream_timeout" ? "timeout" : "broken";
    return { failure: { kind, status: response.status, cause } };
  }
}

function toFailure({ upstreamCode, message }: GatewayError, { status }: TransportResponse): AttemptFailure {
  return { kind: "content", status, code: upstreamCode, message };
}

/** The innermost message: what the network said rather than that it failed. */
function findMessage(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  return findMessage(cause.cause) || cause.message;
}

/** What `gateway.test` sends, where the default will not do. */
export interface ChannelProbeOptions {
  /**
   * A service model. Default: the first name in `models` that the channel serves; one that needs no
   * reference image comes before one that does.
   */
  readonly model?: string | undefined;
  /** Fields as a client sends them. Default: a short prompt, and a picture where the model needs one. */
  readonly fields?: JsonObject | undefined;
}

const PROMPT = "A white circle on a black ground.";

/**
 * A small request for one picture, as a client of the channel's would send it.
 *
 * @throws GatewayError `model_not_found` when the channel does not serve the model,
 * `invalid_request_error` when none can be chosen, or for wrong fields
 */
function createTestRequest(
  channel: Channel,
  models: Readonly<Record<string, ModelOptions>>,
  { model, fields }: ChannelProbeOptions,
): ImageRequest {
  const { family } = channel;
  const table = createSeriesMap(models);
  const isServed = (name: string): boolean =>
    table.find(name)?.value.family === family.name && channel.toUpstreamModel(name) !== undefined;
  const limitsOf = (name: string): Limits => findModelLimits(table.find(name)?.value.limits, name, family);

  const served = Object.keys(models).filter((name) => !isSeries(name) && isServed(name));
  const name = model ?? served.find((other) => !needsPicture(limitsOf(other))) ?? served[0];
  if (name === undefined) {
    throw invalidRequest(`Name the model: the channel ${channel.id} serves series only.`, "model");
  }
  if (!isServed(name)) {
    throw new GatewayError("model_not_found", `The channel ${channel.id} does not serve the model ${name}.`, {
      param: "model",
    });
  }
  const limits = limitsOf(name);
  const picture = needsPicture(limits) ? { image: TEST_PICTURE } : {};
  const [operation = "generate"] = family.operations.has("generate") ? [] : family.operations;
  return family.normalize(fields ?? { prompt: PROMPT, ...picture }, {
    operation,
    model: name,
    limits,
    defaultResponseFormat: undefined,
  });
}

type Limits = ReturnType<typeof findModelLimits>;

function needsPicture(limits: Limits): boolean {
  return (limits?.references?.min ?? 0) > 0;
}

/** A white PNG of 384 x 384 pixels, which every provider takes as a reference image. */
const TEST_PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAYAAAAGAAQAAAACMvIgSAAAAUklEQVR42u3LMQ0AAAwDoPo33WrYuQR+" +
  "0qMIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiD8DgPBfLwqh5C9KwAAAABJRU5E" +
  "rkJggg==";
