import type { Channel, Route } from "../channels/channel.js";
import type { ChannelHealth } from "../channels/health.js";
import { GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import type { Capabilities } from "../families/capabilities.js";
import type { AttemptFailure } from "../families/failure.js";
import type { Logger } from "../logger.js";
import type { CapabilityTable, ModelOptions } from "../models/resolve-model.js";
import type { SecretMask } from "../redact.js";
import type { ImageRequest, ImageResult, Usage } from "../types.js";
import type { JsonObject } from "../util/json.js";
import { createSeriesMap, isSeries } from "../util/series.js";
import { AttemptPreparation } from "./attempt.js";
import { findNoImageError, maskFailure } from "./failure.js";
import type { TaskParts } from "./provider-task.js";
import { readJsonResponse } from "./read.js";
import { toUploads } from "./references.js";
import { sendPrepared } from "./send-prepared.js";
import type { Transport, TransportResponse } from "./transport.js";

/** The result of `gateway.probeChannel`. */
export interface ChannelProbe {
  /** The channel's id. */
  readonly channel: string;
  /** The service model. */
  readonly model: string;
  readonly upstreamModel: string;
  /** True if each key made an image. */
  readonly ok: boolean;
  readonly keys: readonly KeyProbe[];
}

/** The dependencies of {@link probeChannel}. */
export interface ChannelProbeParts extends KeyProbeParts {
  readonly models: Readonly<Record<string, ModelOptions>>;
  readonly capabilities: CapabilityTable;
}

/**
 * Requests one image with each key of a channel, one after another. A success ends a cooldown. A failure counts like
 * the failure of a request. The provider charges each image.
 *
 * @throws GatewayError `model_not_found` if the channel does not serve the model, `invalid_request_error` if no model can
 * be chosen or for wrong fields
 */
export async function probeChannel(
  channel: Channel,
  options: ChannelProbeOptions,
  parts: ChannelProbeParts,
): Promise<ChannelProbe> {
  const request = createProbeRequest(channel, parts, options);
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

/** The result for one key of a channel. */
export type KeyProbe =
  | {
      readonly ok: true;
      /** The index in `apiKey`, from 0. */
      readonly index: number;
      readonly images: number;
      readonly usage: Usage | undefined;
      readonly durationMs: number;
    }
  | {
      readonly ok: false;
      readonly index: number;
      /** As in the channel's status, or `content`: the provider works but made no image. */
      readonly reason: string;
      /** The HTTP status of the upstream response, if one came. */
      readonly status: number | undefined;
      /** The provider's error code, if it sent one. */
      readonly code: string | undefined;
      /** The provider's message, or the error of the connection. Keys are masked. */
      readonly message: string | undefined;
      readonly durationMs: number;
    };

/** The dependencies of the probe of one key. */
interface KeyProbeParts extends TaskParts {
  readonly transport: Transport;
  readonly logger: Logger;
  readonly health: ChannelHealth;
  /** Masks keys in what a provider sent. */
  readonly mask: SecretMask;
  readonly maxResponseBytes: number;
}

/** Sends the request with one key, and reports the result to the health of the channel. */
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
  const preparation = new AttemptPreparation({
    request,
    logger: parts.logger,
    loadReferences: toUploads,
    client: { signal: { aborted: false } },
  });
  const prepared = await preparation.prepare(route);
  const sent = await sendPrepared(prepared, parts);
  if (sent.failure !== undefined) return { failure: sent.failure };
  const { response } = sent;
  try {
    const { value } = await readJsonResponse(response, { maxBytes: parts.maxResponseBytes });
    const result = channel.dialect.fromUpstream(value, request);
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

/** Returns the innermost message, which is the cause in the network. */
function findMessage(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  return findMessage(cause.cause) || cause.message;
}

/** Options of `gateway.probeChannel`. */
export interface ChannelProbeOptions {
  /**
   * A service model. Default: the first name in `models` that the channel serves. Models without a required reference
   * image come first.
   */
  readonly model?: string | undefined;
  /** Fields as a client sends them. Default: a short prompt, and an image if the model requires one. */
  readonly fields?: JsonObject | undefined;
}

const PROMPT = "A white circle on a black ground.";

/**
 * Creates a small request for one image, like one that a client would send.
 *
 * @throws GatewayError see {@link probeChannel}
 */
function createProbeRequest(
  channel: Channel,
  { models, capabilities: rows }: Pick<ChannelProbeParts, "models" | "capabilities">,
  { model, fields }: ChannelProbeOptions,
): ImageRequest {
  const { family } = channel;
  const table = createSeriesMap(models);
  const isServed = (name: string): boolean =>
    table.find(name)?.value.family === family.name && channel.toUpstreamModel(name) !== undefined;
  const capabilitiesOf = (name: string): Capabilities | undefined =>
    rows.findCapabilities(family, table.find(name)?.value.capabilities ?? name);

  const served = Object.keys(models).filter((name) => !isSeries(name) && isServed(name));
  const name = model ?? served.find((other) => !needsImage(capabilitiesOf(other))) ?? served[0];
  if (name === undefined) {
    throw invalidRequest(`Name the model: the channel ${channel.id} serves series only.`, "model");
  }
  if (!isServed(name)) {
    throw new GatewayError("model_not_found", `The channel ${channel.id} does not serve the model ${name}.`, {
      param: "model",
    });
  }
  const capabilities = capabilitiesOf(name);
  const image = needsImage(capabilities) ? { image: TEST_IMAGE } : {};
  const [operation = "generate"] = family.operations.has("generate") ? [] : family.operations;
  return family.normalize(fields ?? { prompt: PROMPT, ...image }, {
    operation,
    model: name,
    capabilities,
    dialects: [channel.dialectName],
    defaultResponseFormat: undefined,
    ownResponseFormat: channel.dialect.delivers[0],
  });
}

function needsImage(capabilities: Capabilities | undefined): boolean {
  return (capabilities?.references?.min ?? 0) > 0;
}

/** A white PNG of 384 x 384 pixels. Every provider accepts it as a reference image. */
const TEST_IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAYAAAAGAAQAAAACMvIgSAAAAUklEQVR42u3LMQ0AAAwDoPo33WrYuQR+" +
  "0qMIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiD8DgPBfLwqh5C9KwAAAABJRU5E" +
  "rkJggg==";
