import type { HeaderReader } from "../http.js";
import type { ImageRequest, Operation, ResponseFormat, SizeMode, StreamFormat } from "../types.js";
import type { JsonObject } from "../util/json.js";
import type { Capabilities } from "./capabilities.js";
import type { Dialect } from "./dialect.js";

/**
 * One provider's wire format. A family has two parts: what it takes from clients (the members below), and how its provider
 * is spoken to (those of {@link Dialect}). It handles bodies and codes, but no sockets, money or channels. Every function
 * is pure.
 */
export interface Family extends Dialect {
  /** The name in `models[…].family` and `channels[].family`. */
  readonly name: string;
  readonly defaultBaseUrl: string;
  /**
   * What other services that speak this wire format do differently, by the name in `channels[].dialect`. Members that a
   * dialect leaves out are those of the family. Default: none.
   */
  readonly dialects?: Readonly<Record<string, Partial<Dialect>>> | undefined;
  readonly operations: ReadonlySet<Operation>;
  /**
   * The endpoint of the operation `native`, with the provider's own structure. A gateway with the family serves it. Default:
   * `/api/v3/images/generations`, which every gateway serves.
   */
  readonly nativeEndpoint?: NativeEndpoint | undefined;
  /** @deprecated Use {@link nativeEndpoint}. */
  readonly nativePath?: NativePath | undefined;
  /** True if the operation `edit` is served only for models with `edits: true` in the options. Default false. */
  readonly editsNeedOption?: boolean | undefined;
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
  /**
   * The fields of `/v1` that are not strings, and those that may be images. The strings of a form become values of these
   * types; fields that are not listed stay strings. Requests with `mask` or `markup` are refused unless they are listed as
   * `image`. Default: none.
   */
  readonly fields?: FieldTypes | undefined;
  /**
   * Checks the fields of a client and returns a valid request. `fields` contains neither `model` nor values that are
   * `null`; for the operation `native` the fields are as the client sent them.
   * @throws GatewayError `invalid_request_error`
   */
  normalize(fields: JsonObject, context: NormalizeContext): ImageRequest;
  /**
   * The `upstreamFields` of one of several upstream calls (`upstreamCalls`): the client's `seed` is raised by `amount`, the
   * index of the call from 0, so that the images differ. Absent: all calls have the same fields.
   */
  raiseSeed?(upstreamFields: JsonObject, amount: number): JsonObject;
}

/** Information about a request in addition to its fields. */
export interface NormalizeContext {
  readonly operation: Operation;
  /** The service model name, as the client sent it. */
  readonly model: string;
  /** The model's names at the channels that serve it. Absent: not known. */
  readonly upstreamModels?: readonly string[] | undefined;
  /** The names of the dialects of these channels, each once; `undefined` for the family's own. Default: the family's own. */
  readonly dialects?: readonly (string | undefined)[] | undefined;
  /** The model's row of capabilities; absent: nothing is checked against it. */
  readonly capabilities: Capabilities | undefined;
  /**
   * The response format that the caller's, the model's or the gateway's options name. `undefined`: they name none, or one
   * that cannot be delivered.
   */
  readonly defaultResponseFormat: ResponseFormat | undefined;
  /** The format that the client gets if nothing else names one, see `Dialect.delivers`. Default: the family's own. */
  readonly ownResponseFormat?: ResponseFormat | undefined;
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

/** An endpoint with a provider's own structure, and its rules. */
export interface NativeEndpoint {
  /** The whole path below the base path of the gateway, such as `/api/v3/images/generations`. */
  readonly path: string;
  /**
   * Refuses what the provider's clients ask for by a header and the gateway does not offer. Called before the body is read.
   * Default: nothing is refused.
   *
   * @throws GatewayError `invalid_request_error`
   */
  checkHeaders?(headers: HeaderReader): void;
  /**
   * What the body of an error has beside `error`, for clients that read the provider's structure. An error with a body of the
   * provider has that body. Default: nothing.
   *
   * @param requestId the gateway's id of the request
   */
  toErrorFields?(error: { readonly code: string; readonly message: string }, requestId: string): JsonObject;
}

/** The path of {@link Family.nativePath}. */
export type NativePath =
  | "/api/v3/images/generations"
  | "/api/v1/services/aigc/multimodal-generation/generation";

/**
 * The types of fields of `/v1`. An `image` is a reference image: a link, a data URL or an `UploadedImage`. The field
 * `image` itself need not be listed.
 */
export type FieldTypes = Readonly<
  Record<string, "number" | "boolean" | "object" | "list" | "image" | undefined>
>;
