import { toRequestBounds } from "../../billing/charge.js";
import type { Commit } from "../../billing/commit.js";
import { DEFAULT_GROUP } from "../../billing/model-details.js";
import type { PriceList } from "../../billing/pricing.js";
import type { SettledRecord } from "../../billing/records.js";
import type { Channel, Route } from "../../channels/channel.js";
import { GatewayError, invalidRequest, isGatewayError } from "../../errors.js";
import { createArrival } from "../../events.js";
import type { Capabilities } from "../../families/capabilities.js";
import type { AttemptFailure } from "../../families/failure.js";
import type { GatewayResponse } from "../../http.js";
import type { Configured } from "../../kernel/feature.js";
import { NormalizedCall } from "../../kernel/normalized-call.js";
import { type CallClient, endFailed, NO_RESPONSE, run } from "../../kernel/run.js";
import { RequestLogger } from "../../logger.js";
import type { Caller, ImageRequest, Usage } from "../../types.js";
import { findShownMessage } from "../../upstream/failure.js";
import { toUploads } from "../../upstream/references.js";
import type { JsonObject } from "../../util/json.js";
import { createSeriesMap, isSeries } from "../../util/series.js";

/** The result of `gateway.probeChannel`. */
export interface ChannelProbe {
  /** The channel's id. */
  readonly channel: string;
  /** The service model. */
  readonly model: string;
  /** The channel's name of the model. */
  readonly upstreamModel: string;
  /** True if each key made an image. */
  readonly ok: boolean;
  /** The result for each key of the channel, in the order of `apiKey`. */
  readonly keys: readonly KeyProbe[];
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
  parts: Configured,
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
      /** How many images came. */
      readonly images: number;
      /** What the provider reported, if it reported anything. */
      readonly usage: Usage | undefined;
      /** The time until the response was read, in milliseconds. */
      readonly durationMs: number;
    }
  | {
      readonly ok: false;
      /** The index in `apiKey`, from 0. */
      readonly index: number;
      /** As in the channel's status, or `content`: the provider works but made no image. */
      readonly reason: string;
      /** The HTTP status of the upstream response, if one came. */
      readonly status: number | undefined;
      /** The provider's error code, if it sent one. */
      readonly code: string | undefined;
      /** The provider's message, or the error of the connection. Keys are redacted. */
      readonly message: string | undefined;
      /** The time until the failure, in milliseconds. */
      readonly durationMs: number;
    };

/** Requests an image with one key. Its result counts in the health of the channel, and nothing is stored or charged. */
async function probeKey(route: Route, request: ImageRequest, parts: Configured): Promise<KeyProbe> {
  const client = new ProbeClient();
  const { id, receivedAt, time, operation } = createArrival(parts, request.operation);
  const model = parts.resolveModel(request.model, OPERATOR, operation);
  const call = new NormalizedCall({
    billed: {
      id,
      receivedAt,
      time,
      operation,
      caller: OPERATOR.id,
      group: DEFAULT_GROUP,
      model: model.name,
      bounds: toRequestBounds(request),
      price: undefined,
    },
    caller: OPERATOR,
    callerLimits: {},
    model,
    request,
    logger: new RequestLogger(parts.logger, id),
    keepAlive: parts.track,
    linkBase: "",
    loadReferences: toUploads,
    probe: { route, onFailure: (failure) => (client.failure = failure) },
  });
  const startedAt = parts.now();
  await run({ ...parts, images: undefined }, call, client);
  return client.toResult(route.key.index, parts.now() - startedAt);
}

/** Not a caller of the options. */
const OPERATOR: Caller = { id: "operator" };

/** The operator who probes a channel. */
class ProbeClient implements CallClient {
  readonly hold = "of a probe";
  failure: AttemptFailure | undefined;
  #error: unknown;
  #record: SettledRecord | undefined;

  receive(_response: GatewayResponse, { record }: Commit): GatewayResponse {
    this.#record = record;
    return NO_RESPONSE;
  }

  async fail(error: unknown, commit: Commit): Promise<GatewayResponse> {
    await endFailed(commit);
    this.#error = error;
    this.#record = commit.record;
    return NO_RESPONSE;
  }

  /** @throws what kept the request from being sent */
  toResult(index: number, durationMs: number): KeyProbe {
    const error = this.#error;
    const record = this.#record;
    const status = record?.attempts?.at(-1)?.status;
    if (this.failure !== undefined) {
      const { kind, code } = this.failure;
      const message = findShownMessage(this.failure) || undefined;
      return {
        ok: false,
        index,
        reason: kind,
        status: this.failure.status ?? status,
        code,
        message,
        durationMs,
      };
    }
    if (record === undefined) throw error;
    if (isGatewayError(error)) {
      // The channel is not to blame: it made no image, or its response is too large.
      const reason = error.code === "upstream_invalid_response" ? "broken" : "content";
      return {
        ok: false,
        index,
        reason,
        status,
        code: error.upstreamCode,
        message: error.message,
        durationMs,
      };
    }
    const { images, usage, reportedUsage = usage } = record;
    return { ok: true, index, images, usage: reportedUsage, durationMs };
  }
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
  parts: Pick<Configured, "models" | "capabilities">,
  { model, fields }: ChannelProbeOptions,
): ImageRequest {
  const { family } = channel;
  const { names, serves, neededImages } = findServed(channel, parts);
  const name = model ?? chooseModel(names, neededImages);
  if (name === undefined) {
    throw invalidRequest(`Name the model: the channel ${channel.id} serves series only.`, "model");
  }
  if (!serves(name)) {
    throw new GatewayError("model_not_found", `The channel ${channel.id} does not serve the model ${name}.`, {
      param: "model",
    });
  }
  const needed = neededImages(name);
  const image = needed === 0 ? {} : { image: needed === 1 ? TEST_IMAGE : Array(needed).fill(TEST_IMAGE) };
  const [operation = "generate"] = family.operations.has("generate") ? [] : family.operations;
  return family.normalize(fields ?? { prompt: PROMPT, ...image }, {
    operation,
    model: name,
    capabilities: findCapabilitiesOf(channel, parts)(name),
    dialects: [channel.dialectName],
    defaultResponseFormat: undefined,
    ownResponseFormat: channel.dialect.delivers[0],
  });
}

/** The service models of a channel. */
interface ServedModels {
  /** Names, without series: those of `models` come first, then those that only `modelMapping` has. */
  readonly names: readonly string[];
  /** Keys of `models` that end in `*`, as far as the channel serves names of them. */
  readonly series: readonly string[];
  readonly serves: (name: string) => boolean;
  /** How many reference images the model needs at least. */
  readonly neededImages: (name: string) => number;
}

/** Finds the service models that a channel serves. */
export function findServed(
  channel: Channel,
  parts: Pick<Configured, "models" | "capabilities">,
): ServedModels {
  const table = createSeriesMap(parts.models);
  const capabilitiesOf = findCapabilitiesOf(channel, parts);
  const serves = (name: string): boolean =>
    table.find(name)?.value.family === channel.family.name && channel.toUpstreamModel(name) !== undefined;
  const keys = Object.keys(parts.models);
  const isOfFamily = (key: string): boolean => parts.models[key]?.family === channel.family.name;
  // A mapping may have names of a series.
  const names = new Set([...keys, ...channel.mappedNames]);
  return {
    names: [...names].filter((name) => !isSeries(name) && serves(name)),
    series: keys.filter((key) => isSeries(key) && isOfFamily(key) && mayServe(channel, key)),
    serves,
    neededImages: (name) => capabilitiesOf(name)?.references?.min ?? 0,
  };
}

/** Whether the channel serves names of a series that neither `models` nor `modelMapping` has. */
function mayServe({ hasMapping, mappedNames }: Channel, series: string): boolean {
  const prefix = series.slice(0, -1);
  const overlaps = (other: string): boolean => other.startsWith(prefix) || prefix.startsWith(other);
  return !hasMapping || mappedNames.some((name) => isSeries(name) && overlaps(name.slice(0, -1)));
}

function findCapabilitiesOf(
  { family }: Channel,
  { models, capabilities }: Pick<Configured, "models" | "capabilities">,
): (name: string) => Capabilities | undefined {
  const table = createSeriesMap(models);
  return (name) => capabilities.findCapabilities(family, table.find(name)?.value.capabilities ?? name);
}

/** A model without a required reference image comes first. */
function chooseModel(
  names: readonly string[],
  neededImages: ServedModels["neededImages"],
): string | undefined {
  return names.find((name) => neededImages(name) === 0) ?? names[0];
}

/** What `gateway.estimateProbe` returns: what a probe would request. Nothing was sent. */
export interface ProbeEstimate {
  /** The channel's id. */
  readonly channel: string;
  /** How many images the probe requests: one with each key. */
  readonly images: number;
  /** The service model of a probe that names none. Absent: the channel serves series only, so a probe must name a model. */
  readonly model?: string;
  /** The service models that the channel serves, without those of series. */
  readonly models: readonly ProbeModel[];
  /** The series that the channel serves, such as `image-edit*`. A probe may name any of their models. */
  readonly series: readonly string[];
}

/** A model that a channel can be probed with. */
export interface ProbeModel {
  readonly model: string;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  /**
   * The most that a caller of the group `default` would be charged for one image of the probe: a decimal. The probe itself
   * is not charged to any caller. The provider charges its own price, which the gateway does not know. `null` without a
   * price.
   */
  readonly charge: string | null;
}

/** Returns what {@link probeChannel} would request with each model of a channel. */
export function estimateProbe(
  channel: Channel,
  parts: Pick<Configured, "models" | "capabilities" | "prices">,
): ProbeEstimate {
  const { names, series, neededImages } = findServed(channel, parts);
  const model = chooseModel(names, neededImages);
  return {
    channel: channel.id,
    images: channel.keys.length,
    ...(model !== undefined && { model }),
    models: names.map((name) => ({
      model: name,
      upstreamModel: channel.toUpstreamModel(name) ?? name,
      charge: findCharge(createProbeRequest(channel, parts, { model: name }), parts.prices),
    })),
    series,
  };
}

function findCharge(request: ImageRequest, prices: PriceList | undefined): string | null {
  // `find` throws for a model without a price.
  if (prices?.show(request.model, DEFAULT_GROUP) === undefined) return null;
  return prices.find(request.model, DEFAULT_GROUP).estimate(toRequestBounds(request)).amount;
}

/** A white PNG of 384 x 384 pixels. Every provider accepts it as a reference image. */
const TEST_IMAGE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAYAAAAGAAQAAAACMvIgSAAAAUklEQVR42u3LMQ0AAAwDoPo33WrYuQR+" +
  "0qMIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiAIgiD8DgPBfLwqh5C9KwAAAABJRU5E" +
  "rkJggg==";
