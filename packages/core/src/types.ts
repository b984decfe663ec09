import type { ReferenceImage } from "./images/reference-image.js";
import type { JsonObject } from "./util/json.js";

/**
 * What was asked for, named after the endpoint: `generate` is `/v1/images/generations`, `edit` is
 * `/v1/images/edits`, `native` is `/api/v3/images/generations`.
 */
export type Operation = "generate" | "edit" | "native";

/** How the images of an answer are delivered: as temporary links or as base64 text. */
export type ResponseFormat = "url" | "b64_json";

/**
 * An amount, a price or a ratio: a plain decimal such as `"0.075"`. A number means its shortest decimal string, so
 * `0.1` means exactly `0.1`.
 */
export type DecimalInput = string | number;

/** Who holds the API key of a request. */
export interface Caller {
  /** Names the caller in usage records and logs. Not secret. */
  readonly id: string;
  /** The price group, a key of `billing.group_ratio`. Default `"default"`. */
  readonly group?: string | undefined;
  /** Service models the caller may use, series (`image-edit*`) included. Default: all. */
  readonly models?: readonly string[] | undefined;
  /** Response format for requests that name none. Wins over the model's and the gateway's. */
  readonly responseFormat?: ResponseFormat | undefined;
  /** ISO 8601 with a time zone, or a Date: from then on the key is refused. Default: never. */
  readonly expiresAt?: string | Date | undefined;
  /**
   * The total that the caller may ever spend, open holds included. A decimal of at least 0; requires `billing`.
   * Default: no limit.
   */
  readonly budget?: DecimalInput | undefined;
  /** In place of the gateway's own limits, each for itself. */
  readonly limits?: CallerLimits | undefined;
}

/** The rates at which one caller may send requests. An absent limit does not apply; `null` lifts a limit of the gateway. */
export interface CallerLimits {
  /** A whole number of at least 1. */
  readonly requestsPerMinute?: number | null | undefined;
  /** The largest number of images that each request may make counts before it is sent. A whole number of at least 1. */
  readonly imagesPerMinute?: number | null | undefined;
  /** Requests at the same time; a stream counts until it ends. A whole number of at least 1. */
  readonly concurrent?: number | null | undefined;
}

/** A request that was understood and found valid, before a channel is chosen. */
export interface ImageRequest {
  readonly operation: Operation;
  /** The service model name, as the client sent it. */
  readonly model: string;
  readonly prompt: string;
  /** Reference images in the order that counts: `http(s)` URLs, data URLs, or the files of a form. */
  readonly images: readonly ReferenceImage[];
  /** The largest number of images that the provider may make of it, and so the most it can cost. */
  readonly maxImages: number;
  /** The most pixels that one of the images may have, where the size or the model's limits tell it. */
  readonly maxPixels?: number | undefined;
  readonly responseFormat: ResponseFormat;
  readonly stream: boolean;
  /** What the provider gets, in its own spelling and without `model`. */
  readonly upstreamFields: JsonObject;
  /** Fields of the client that are known and have no meaning here; named in `x-calotype-ignored`. */
  readonly ignored: readonly string[];
}

/**
 * What the provider says it made and used. Spelled as in the interface, everywhere.
 * Each number is a whole number of at least 0; what the provider did not report is absent.
 */
export interface Usage {
  /** Images generated successfully. */
  readonly generated_images?: number;
  /** Image tokens. */
  readonly output_tokens?: number;
  /** All tokens. */
  readonly total_tokens?: number;
}

/** One image of an answer. Fields of the provider beyond these are kept. */
export interface ResultImage {
  readonly url?: string;
  readonly b64_json?: string;
  /** The actual size, `<width>x<height>`. */
  readonly size?: string;
  readonly [field: string]: unknown;
}

/** Why there is no image, in the provider's words. */
export interface FailureReason {
  readonly code: string;
  readonly message: string;
}

/** One image of a batch that could not be made. */
export interface ResultError extends FailureReason {
  /** Its place in the batch, from 0. */
  readonly index: number;
}

/** An answer of a provider, understood. */
export interface ImageResult {
  readonly images: readonly ResultImage[];
  /** Images of the batch that failed while others may have been made. */
  readonly errors: readonly ResultError[];
  /** Why there is no image at all, in the provider's words, when it says so for the whole answer. */
  readonly failure?: FailureReason | undefined;
  /** Absent when the provider reported nothing that can be used. */
  readonly usage?: Usage | undefined;
  /** The provider's request id as it stands in the body. */
  readonly upstreamRequestId?: string | undefined;
  /** Top-level fields of the `/v1` answer beside `created`, `data` and `extra`. */
  readonly fields: JsonObject;
  /** Seconds since 1970, as the provider gave it. */
  readonly created?: number | undefined;
  /** What stands in `extra` of the `/v1` answer; `extra.errors` is added to it. */
  readonly extra?: JsonObject | undefined;
}

/** One attempt: a request sent once, to one channel with one of its keys. */
export interface AttemptRecord {
  readonly channel: string;
  /** The index of the key in the channel's `apiKey`, from 0. */
  readonly key: number;
  /** The HTTP status of the upstream response. Absent if none came. */
  readonly status?: number;
  /**
   * Why the attempt failed: the provider's code, or the gateway's code if the provider sent none. Absent on success.
   */
  readonly code?: string;
  /** The time from sending the request to the head of the upstream response, or to the failure. */
  readonly durationMs: number;
}

/** The channel whose response or failure the client gets, the channel's name of the model, and all attempts so far. */
export interface SentTo {
  readonly channel: string;
  readonly upstreamModel: string;
  readonly attempts: readonly AttemptRecord[];
  /** True if an earlier attempt may have made an image, which is so only with `retryUnsafe`. Default false. */
  readonly isRepeated?: boolean;
}

/** A channel, a key or a model of it that is not used for some time. */
export interface Cooldown {
  /** The end of that time, in milliseconds since 1970. */
  readonly until: number;
  /** The kind of the failure that started it. */
  readonly reason: string;
}
