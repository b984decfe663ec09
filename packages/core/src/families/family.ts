import type { ProducedBody } from "../images/json-body.js";
import type { SizeLimits } from "../images/size.js";
import type {
  FailureReason,
  ImageRequest,
  ImageResult,
  MadeImage,
  Operation,
  ResponseFormat,
  ResultError,
  SizeMode,
  StreamFormat,
  Usage,
} from "../types.js";
import type { JsonObject } from "../util/json.js";

/**
 * What one model can do. Data, not code: rows of a family, of the option `capabilities`, or of one model in
 * `models[…].capabilities`. Values that a row does not state are not checked.
 */
export interface Capabilities {
  /** The sizes that the model accepts; `"none"` if it accepts no `size` at all. */
  readonly size?: SizeLimits | "none" | undefined;
  /** The number of reference images of a request. Default: the limits of the family. */
  readonly references?: { readonly min?: number | undefined; readonly max: number } | undefined;
  /**
   * The largest number of images that the provider makes in one call, without layers. A whole number of at least 1.
   * Default: the limit of the family.
   */
  readonly imagesPerCall?: number | undefined;
  /** The largest number of reference images and images made by one call, together. Default: the limit of the family. */
  readonly maxReferencesAndImages?: number | undefined;
  /** False if the provider refuses the field `stream` for this model. */
  readonly streaming?: boolean | undefined;
  /** False if the provider refuses the field `sequential_image_generation` for this model. */
  readonly sequentialImages?: boolean | undefined;
  /** What the model accepts as `background`. If absent, the field is not sent. */
  readonly background?: BackgroundRules | undefined;
  /**
   * What `layer_decomposition` makes; `"none"` if the model makes no layers. If absent, requests with layers are not
   * checked, and the hold counts the most layers of any model of the family.
   */
  readonly layers?: LayerRules | "none" | undefined;
  /** The values of `output_format`. If absent, any value is sent. */
  readonly outputFormats?: readonly string[] | undefined;
  /** When the provider released the model, such as `2026-11-12`. `/v1/models` shows it as `created`. Default: not known. */
  readonly released?: string | undefined;
  /** The document that states these facts, for people. */
  readonly source?: string | undefined;
  /** When the facts were last compared with the source, such as `2026-11`. For people. */
  readonly checked?: string | undefined;
}

/** What a model accepts as `background`. */
export interface BackgroundRules {
  readonly values: readonly string[];
  /** True if `transparent` requires a reference image that is a PNG with an alpha channel. Default false. */
  readonly transparentNeedsPng?: boolean | undefined;
}

/** What a model makes with `layer_decomposition`. */
export interface LayerRules {
  /** The largest number of layers beside the base image. */
  readonly max: number;
  /** The values of `size` with layers, in any letter case. If absent, the rules for `size` apply. */
  readonly sizes?: readonly string[] | undefined;
}

/** A row of a family's table of models: the names of one model, what it can do, and where that is stated. */
export interface ModelRow extends Capabilities {
  /** The model's names without the provider's prefix and without the date of a build. */
  readonly names: readonly string[];
  /** The model's names at the provider as far as they are known, for the documentation. */
  readonly upstreamNames?: readonly string[] | undefined;
  /** Facts that the gateway does not check, for the documentation. Plain sentences. */
  readonly note?: string | undefined;
  readonly source: string;
  readonly checked: string;
}

/** Information about a request in addition to its fields. */
export interface NormalizeContext {
  readonly operation: Operation;
  /** The service model name, as the client sent it. */
  readonly model: string;
  /** The model's names at the channels that serve it. Absent: not known. */
  readonly upstreamModels?: readonly string[] | undefined;
  /** The model's row of capabilities; absent: nothing is checked against it. */
  readonly capabilities: Capabilities | undefined;
  /** The default response format of the caller, the model or the gateway. */
  readonly defaultResponseFormat: ResponseFormat | undefined;
  /**
   * With `openai`, the gateway makes the stream itself if the model does not stream: a request with `stream: true` is then
   * valid for every model and operation, and the field is sent only to a model that streams. Default `native`.
   */
  readonly streamFormat?: StreamFormat | undefined;
  /** With `nearest`, a size that the model does not accept is replaced. Default `strict`. */
  readonly sizes?: SizeMode | undefined;
  /**
   * How many upstream calls one request may take, if the model makes one image per call. Default 1: such a model
   * refuses `n` above 1.
   */
  readonly maxUpstreamCalls?: number | undefined;
}

/** Reads from the events of one stream what was made and used. */
export interface StreamReader {
  read(event: { readonly event?: string | undefined; readonly data: string }): void;
  /**
   * True when the last relevant event has arrived. The client then gets it only after the request is settled. Absent:
   * the client gets each event at once, and only the end of the stream waits.
   */
  readonly isOver?: boolean;
  /** Returns what is known so far. At the end of the stream, this is charged. */
  result(): StreamResult;
}

/** The facts that a stream reported. */
export interface StreamResult {
  /** The number of different images in the stream. */
  readonly images: number;
  /** `undefined` if the stream reported nothing that was made. */
  readonly usage: Usage | undefined;
  /** What the events say about each image that was made. Default: nothing. */
  readonly made?: readonly MadeImage[] | undefined;
  /**
   * True if the tokens of some images are not in `usage`, because their sizes are unknown. If tokens have a price,
   * the record is marked `unpriced`. Default false.
   */
  readonly hasUnknownTokens?: boolean | undefined;
  /**
   * The error that ended the stream, with the provider's code and message. If it has a `kind` and the stream has no
   * image, the failure counts in the health of the channel, key or model.
   */
  readonly failure: (FailureReason & Partial<Pick<UpstreamFailure, "kind" | "scope">>) | undefined;
  /**
   * The images of the batch that failed, in the order of the events. If the stream has no image, the first one is the
   * error of the stream. Default: none.
   */
  readonly errors?: readonly ResultError[] | undefined;
}

/** The paths of the endpoints with a provider's own structure. */
export type NativePath =
  | "/api/v3/images/generations"
  | "/api/v1/services/aigc/multimodal-generation/generation";

/** The types that fields of a form have in JSON. */
export type FormFieldTypes = Readonly<Record<string, "number" | "boolean" | "object" | undefined>>;

/**
 * One provider's wire format. A family handles bodies and codes, but no sockets, money or channels. Every function is
 * pure.
 */
export interface Family {
  /** The name in `models[…].family` and `channels[].family`. */
  readonly name: string;
  /** The base URL of channels without `baseUrl`. A base URL without a path gets the path of this one. */
  readonly defaultBaseUrl: string;
  readonly operations: ReadonlySet<Operation>;
  /**
   * The path of the endpoint with the provider's own structure, the operation `native`. Default
   * `/api/v3/images/generations`.
   */
  readonly nativePath?: NativePath | undefined;
  /** True if the operation `edit` is served only for models with `edits: true` in the options. Default false. */
  readonly editsNeedOption?: boolean | undefined;
  /** False if the provider reports no tokens. `per-token` prices then fail at startup. */
  readonly reportsTokens: boolean;
  /**
   * True if requests have a `quality`, or responses report it. Default false: `image_prices` that depend on it fail
   * at startup.
   */
  readonly readsQuality?: boolean;
  /**
   * The names at the provider that are known, in a stable order. `/v1/models` lists those that a series of the options
   * includes. Default: none.
   */
  readonly modelNames?: readonly string[] | undefined;
  /** Returns what a model can do, by its name. Absent: the family has no table of models. */
  findCapabilities?(name: string): Capabilities | undefined;
  /**
   * Returns the name of a model without the prefixes that do not count in the names of rows, also for a series
   * (`doubao-seedream-6-0*`). Used for the rows of the option `capabilities`. Absent: names are compared as they are.
   */
  toRowName?(name: string): string;
  /**
   * True if `normalize` accepts an `UploadedImage` in place of a data URL, in `image` or in a list in `image`. Long data
   * URLs of JSON then stay bytes. Absent: data URLs of JSON are strings. Files of forms are always `UploadedImage`.
   */
  readonly takesImageBytes?: boolean;
  /** The types of form fields that are not strings. Default: every field of a form is a string, and `image` a list. */
  readonly formFields?: FormFieldTypes;
  /**
   * Checks the fields of a client and returns a valid request. `fields` contains neither `model` nor values that are
   * `null`; for the operation `native` the fields are as the client sent them.
   * @throws GatewayError `invalid_request_error`
   */
  normalize(fields: JsonObject, context: NormalizeContext): ImageRequest;
  toUpstream(request: ImageRequest, upstreamModel: string): UpstreamCall;
  /**
   * The `upstreamFields` of one of several upstream calls (`upstreamCalls`): the client's `seed` is raised by `amount`, the
   * index of the call from 0, so that the images differ. Absent: all calls have the same fields.
   */
  raiseSeed?(upstreamFields: JsonObject, amount: number): JsonObject;
  /** Reads a successful response of the provider (HTTP 200, a JSON object). */
  fromUpstream(body: JsonObject, request: ImageRequest): ImageResult;
  /**
   * Where the parts of a successful response are, so that a response of megabytes can be read while it is relayed,
   * without holding it in memory. Absent: every response is read as a whole.
   */
  readonly responseShape?: ResponseShape;
  /**
   * A reader for the events of one response. Absent if the provider does not stream. The reader lives as long as the
   * stream, so it should keep what it needs of the request and not the request itself.
   */
  readStream?(request: ImageRequest): StreamReader;
  /**
   * Which events have images. Absent: a stream of the provider is relayed unchanged, also to a client that has the
   * stream format `openai`.
   */
  readonly streamShape?: StreamShape | undefined;
  /**
   * Classifies an error response of the provider. `body` is its parsed JSON, or `undefined` if it is not JSON. The
   * status is 200 to 299 if {@link fromUpstream} found a `failure` and no image in a successful response.
   */
  toFailure(status: number, body: JsonObject | undefined): UpstreamFailure;
}

/**
 * Where a family's response has which information, and how to read it, so that a response of megabytes can be read
 * while it is relayed. The names are those of top-level members. Every function is pure.
 */
export interface ResponseShape {
  /** The provider's name of the model. */
  readonly model: string;
  /** The time at which the response was created. */
  readonly created: string;
  /** The array of images and of items that failed. */
  readonly items: string;
  readonly usage: string;
  /** The error of the whole response. */
  readonly failure: string;
  /** The provider's request id, if the body contains it. */
  readonly requestId?: string | undefined;
  /** Whether an item is an image, or the reason why it is not. `index` is its position in the batch. */
  readItem(item: unknown, index: number): "image" | ResultError;
  /** Returns `undefined` if the provider reported nothing that can be used. */
  readUsage(usage: unknown): Usage | undefined;
  /** Returns `undefined` if the member reports no failure. */
  readFailure(failure: unknown): FailureReason | undefined;
  /** Returns seconds since 1970, or `undefined` if the member is not a time. */
  readCreated(created: unknown): number | undefined;
}

/**
 * Which of a family's events has an image, so that the gateway can make the events of OpenAI's images API from them
 * without holding an image. The image is in the member `url` or `b64_json` of the event.
 */
export interface StreamShape {
  /** The `type` in the data of an event with a finished image, or the name of the event if its data has no `type`. */
  readonly imageEvent: string;
  /** The member with the time at which the image was made, in seconds since 1970. */
  readonly created: string;
  /** Members that do not describe the image. All other members become members of OpenAI's event. */
  readonly leftOut: readonly string[];
}

/** One call to a provider, without address and key. */
export interface UpstreamCall {
  /** Appended to the channel's base URL. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A string, or bytes that are created while they are sent, for example by `toJsonBody`. */
  readonly body: string | ProducedBody;
}

/**
 * The kind of an error response of a provider. It decides whether another channel may be tried, and what the client
 * gets.
 *
 * - `content`: the request itself is refused; the same request fails everywhere.
 * - `model`: the model or endpoint does not exist at this provider, or is closed.
 * - `credential`: our key or account is refused, or may not use the model; the client's request may be fine.
 * - `rate`: too many requests at the moment.
 * - `quota`: the quota of an account is used up; waiting does not help.
 * - `overload`: the provider says that it did not accept the request (503).
 * - `server`: the provider failed; an image may or may not have been made.
 */
export type UpstreamFailureKind =
  | "content"
  | "model"
  | "credential"
  | "rate"
  | "quota"
  | "overload"
  | "server";

/**
 * What a failure makes unusable for some time: nothing (`request`), one model on the channel, one key of the channel,
 * or the whole channel. A failure with scope `model` and kind `credential`, `rate` or `quota` belongs to the account:
 * it affects the model only with that key.
 */
export type FailureScope = "request" | "model" | "key" | "channel";

/** An error response of a provider, classified by its family. */
export interface UpstreamFailure {
  readonly kind: UpstreamFailureKind;
  /**
   * What cools after the failure. Default: `request` for `content`, `model` for `model`, `key` for `credential`,
   * `rate` and `quota`, `channel` for `overload` and `server`.
   */
  readonly scope?: FailureScope | undefined;
  /** The provider's error code, if there is one. */
  readonly code?: string | undefined;
  /** The provider's message, if there is one. */
  readonly message?: string | undefined;
  /** The wrong field, if the provider names one. */
  readonly param?: string | undefined;
  /** The provider's request id in the body. The header is read elsewhere. */
  readonly requestId?: string | undefined;
}

/** Why one attempt failed: an error response of the provider, or a failed connection. */
export interface AttemptFailure extends Omit<UpstreamFailure, "kind"> {
  readonly kind: UpstreamFailureKind | "unreachable" | "timeout" | "broken";
  /** The HTTP status, if the provider responded. */
  readonly status?: number | undefined;
  /** Seconds, from the provider's `retry-after`. */
  readonly retryAfterSeconds?: number | undefined;
  /** The provider's unchanged error body, if it is JSON. */
  readonly body?: string | undefined;
  readonly cause?: unknown;
}
