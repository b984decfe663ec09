import type { ReferenceImage } from "./images/reference-image.js";
import type { DecimalInput } from "./util/decimal.js";
import type { JsonObject } from "./util/json.js";

export type { DecimalInput };

/**
 * The requested operation, named after the endpoint: `generate` is `/v1/images/generations`, `edit` is
 * `/v1/images/edits`, `native` is an endpoint with a provider's own structure (`/api/v3/images/generations`,
 * `/api/v1/services/aigc/multimodal-generation/generation`).
 */
export type Operation = "generate" | "edit" | "native";

/** How the images of a response are delivered: as temporary links or as base64. */
export type ResponseFormat = "url" | "b64_json";

/**
 * How a stream of `/v1` is sent: `native` relays the provider's own events; `openai` sends the events of OpenAI's images
 * API, one `image_generation.completed` (edits: `image_edit.completed`) for each image.
 */
export type StreamFormat = "native" | "openai";

/**
 * What happens on `/v1` to a size that the model does not accept: `strict` refuses it with a 400, `nearest` replaces it by
 * the accepted size that is nearest in aspect ratio, then in pixels.
 */
export type SizeMode = "strict" | "nearest";

/** The client programs that have a profile. */
export type ClientName =
  | "librechat"
  | "dify"
  | "open-webui"
  | "n8n"
  | "langchain"
  | "lobehub"
  | "litellm"
  | "comfyui"
  | "ai-sdk"
  | "openai";

/**
 * How `/v1` treats requests that do not say it themselves. Each can be set for a caller, for a model and for the gateway.
 * The request comes first, then the caller's own options, the profile of the caller's client, the model, the gateway.
 */
export interface Preferences {
  /** The response format of requests that name none. Default: that of the provider, `url`. */
  readonly responseFormat?: ResponseFormat | undefined;
  /** The format of streams. Default `native`. */
  readonly streamFormat?: StreamFormat | undefined;
  /** What happens to a size that the model does not accept. Default `strict`. */
  readonly sizes?: SizeMode | undefined;
}

/** A budget that begins anew in each period. */
export interface PeriodicBudget {
  /** The maximum total of charges and open holds in one period: a decimal of at least 0. */
  readonly amount: DecimalInput;
  /** A calendar day, a week that begins on Monday, a calendar month, or all time. */
  readonly period: "day" | "week" | "month" | "total";
  /** The time zone in which the periods begin, such as `Europe/London`. Default `UTC`. Not with `total`. */
  readonly timeZone?: string | undefined;
}

/** The holder of an API key, or a signed-in user of the app. Its preferences take precedence over those of the model and the gateway. */
export interface Caller extends Preferences {
  /** The caller's id in usage records and logs. Not secret. */
  readonly id: string;
  /** The price group, a key of `billing.group_ratio`. Default `"default"`. */
  readonly group?: string | undefined;
  /** The service models that the caller may use; may contain series (`image-edit*`). Default: all. */
  readonly models?: readonly string[] | undefined;
  /**
   * The program that the caller uses. Its profile sets the preferences that this program needs, unless the caller sets
   * them itself. Default: no profile.
   */
  readonly client?: ClientName | undefined;
  /** When the key or the session expires: ISO 8601 with a time zone, or a Date. Default: never. */
  readonly expiresAt?: string | Date | undefined;
  /**
   * The maximum total of the caller's charges and open holds: a decimal of at least 0 for all time, or an amount for each
   * period. Needs `billing`. Default: no limit.
   */
  readonly budget?: DecimalInput | PeriodicBudget | undefined;
  /** Each of these limits replaces the gateway's. */
  readonly limits?: CallerLimits | undefined;
}

/** The rates at which one caller may send requests. An absent limit does not apply; `null` lifts a limit of the gateway. */
export interface CallerLimits {
  /** A whole number of at least 1. */
  readonly requestsPerMinute?: number | null | undefined;
  /** Each request counts as the largest number of images that it can make. A whole number of at least 1. */
  readonly imagesPerMinute?: number | null | undefined;
  /** Concurrent requests; a stream counts until it ends. A whole number of at least 1. */
  readonly concurrent?: number | null | undefined;
  /**
   * How long a request that is over one of these limits waits for its turn, in seconds, before it gets a 429: 0 to 300. The
   * limits of a model that have none use that of the caller. Default 0.
   */
  readonly waitSeconds?: number | null | undefined;
}

/** A valid request, before a channel is selected. */
export interface ImageRequest {
  readonly operation: Operation;
  /** The service model name, as the client sent it. */
  readonly model: string;
  readonly prompt: string;
  /** Reference images in order: `http(s)` URLs, data URLs, or the files of a form. */
  readonly images: readonly ReferenceImage[];
  /** The mask of an edit: its transparent pixels are changed. Only of families that take one. */
  readonly mask?: ReferenceImage | undefined;
  /** The drawing over the first image that shows what to change. Only of families that take one. */
  readonly markup?: ReferenceImage | undefined;
  /** The largest number of images that the provider can make for the request. The hold is computed from it. */
  readonly maxImages: number;
  /**
   * How many upstream calls make the images of the request, if more than one: the model makes one image per call, and
   * the client asked for several. Each of them can make an equal share of `maxImages`. None of them streams: with the stream
   * format `openai` the gateway makes the stream from their responses.
   */
  readonly upstreamCalls?: number | undefined;
  /** The largest number of pixels of an image, if the size or the model's capabilities tell it. */
  readonly maxPixels?: number | undefined;
  /**
   * The most tokens for each image: of all kinds, or only of output if there is `maxInputTokens`. A report of more is cut,
   * and the hold is computed from it. Default: one for each 256 pixels of `maxPixels`.
   */
  readonly maxTokensPerImage?: number | undefined;
  /**
   * Of `maxTokensPerImage`, how many can be text, such as thoughts; the others are of images. Used with `maxInputTokens`,
   * so that a hold does not count text at the price of images. Only of families that report every output token by its kind.
   * Default: all of them.
   */
  readonly maxTextTokensPerImage?: number | undefined;
  /**
   * The most input tokens of one upstream call: of the prompt and the reference images, cached ones included. Default: the
   * input is part of `maxTokensPerImage`.
   */
  readonly maxInputTokens?: number | undefined;
  /** How many of `maxImages` can be layers. The others are images of their own. Default 0. */
  readonly maxLayers?: number | undefined;
  /** The quality that the client asked for, if the family reads it. Absent: the provider chooses. */
  readonly quality?: string | undefined;
  readonly responseFormat: ResponseFormat;
  /**
   * True if the client named `url` and the gateway cannot make links of base64. Channels without links are then left out.
   * Set by the gateway, not by the family. Default false.
   */
  readonly needsLinks?: boolean | undefined;
  /** True if the client gets a stream. */
  readonly stream: boolean;
  /**
   * The format of the stream, also of one that was not requested. Set by the gateway, not by the family. Default `native`.
   */
  readonly streamFormat?: StreamFormat | undefined;
  /**
   * The size that is requested in place of the client's, `<width>x<height>` or a preset, because the model does not
   * accept the client's. Absent: the size was not replaced. It is sent in the header `x-calotype-size`.
   */
  readonly replacedSize?: string | undefined;
  /** True if each image of the `/v1` response states its size, also if the provider's response does not. Default false. */
  readonly statesSize?: boolean | undefined;
  /** The fields that the provider gets, in its own spelling and without `model`. */
  readonly upstreamFields: JsonObject;
  /** Known fields of the client that have no effect. They are listed in the header `x-calotype-ignored`. */
  readonly ignored: readonly string[];
}

/**
 * What the provider reports as made and used, in the spelling of the interface. Each number is a whole number of at least
 * 0. What the provider did not report is absent. A service that always reports 0 tokens reports none.
 */
export interface Usage {
  /** Images generated successfully. */
  readonly generated_images?: number;
  /** Image tokens. */
  readonly output_tokens?: number;
  /** All tokens. */
  readonly total_tokens?: number;
  /** Of the output tokens, those of images. Only prices by the kind of token use it and the following kinds. */
  readonly output_image_tokens?: number;
  /** Of the output tokens, those of text. */
  readonly output_text_tokens?: number;
  /** Input tokens of the prompt, without cached ones. */
  readonly input_text_tokens?: number;
  /** Input tokens of reference images, without cached ones. */
  readonly input_image_tokens?: number;
  /** Input tokens that the provider read from its cache. */
  readonly cached_input_tokens?: number;
  /** Reference images that the provider charges, as Ark reports them. Recorded only. */
  readonly input_images?: number;
  /** Reference images, as DashScope reports them. Recorded only. */
  readonly input_image_count?: number;
  /** How often the provider used each tool, such as `{ web_search: 1 }`. Recorded only. */
  readonly tool_usage?: Readonly<Record<string, number>>;
  /** What the provider says that the call costs, in US dollars: a plain decimal of at least 0. Recorded only. */
  readonly cost_usd?: string;
}

/** What a response says about one image that was made. Prices by dimension use it. */
export interface MadeImage {
  /** The actual size, `<width>x<height>` or `<width>*<height>`. Absent, or written otherwise: unknown. */
  readonly size?: string | undefined;
  /** The quality that the provider reported. Absent: unknown. */
  readonly quality?: string | undefined;
  /** True for a layer of a decomposed image. Default false. */
  readonly isLayer?: boolean | undefined;
}

/** One image of a response. Further fields of the provider are kept. */
export interface ResultImage {
  readonly url?: string;
  readonly b64_json?: string;
  /** The actual size, `<width>x<height>`. */
  readonly size?: string;
  readonly [field: string]: unknown;
}

/** The provider's reason why there is no image. */
export interface FailureReason {
  readonly code: string;
  readonly message: string;
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

/** A failure that a response with a 2xx status or a stream reports. */
export interface ReportedFailure extends FailureReason {
  /**
   * What the failure means. With `content` the client gets a 400, and the request is not sent again. Without a kind,
   * `toFailure` of the family classifies a response that has no image.
   */
  readonly kind?: UpstreamFailureKind | undefined;
  /** See {@link FailureScope}. Default: that of the kind. */
  readonly scope?: FailureScope | undefined;
}

/** One image of a batch that could not be made. */
export interface ResultError extends FailureReason {
  /** Its index in the batch, from 0. */
  readonly index: number;
}

/** The content of an upstream response. */
export interface ImageResult {
  readonly images: readonly ResultImage[];
  /** The failed images of the batch. */
  readonly errors: readonly ResultError[];
  /** The provider's reason why the whole request failed. */
  readonly failure?: ReportedFailure | undefined;
  /** Absent if the provider reported no valid number. */
  readonly usage?: Usage | undefined;
  /**
   * What is known of each of `images`, in the same order. Default: what the fields `size`, `quality` and `z_index` of
   * the image say.
   */
  readonly made?: readonly MadeImage[] | undefined;
  /** The provider's request id in the body. */
  readonly upstreamRequestId?: string | undefined;
  /** Further top-level fields of the `/v1` response, besides `created`, `data` and `extra`. */
  readonly fields: JsonObject;
  /** The provider's time, in seconds since 1970. */
  readonly created?: number | undefined;
  /** The field `extra` of the `/v1` response, to which `extra.errors` is added. */
  readonly extra?: JsonObject | undefined;
}

/** One attempt: a request sent once, to one channel with one of its keys. */
export interface AttemptRecord {
  /** The index of the upstream call, from 0. Only if the request took several, see {@link ImageRequest.upstreamCalls}. */
  readonly call?: number;
  /** The id of the channel. */
  readonly channel: string;
  /** The index of the key in the channel's `apiKey`, from 0. */
  readonly key: number;
  /** The HTTP status of the upstream response. Absent if none came. */
  readonly status?: number;
  /**
   * Why the attempt failed: the provider's code, or the gateway's code if the provider sent none. Absent on success.
   */
  readonly code?: string;
  /** When the attempt began, in milliseconds since 1970. Absent in records of older versions. */
  readonly beganAt?: number;
  /** The time from sending the request to the head of the upstream response, or to the failure. */
  readonly durationMs: number;
  /**
   * The end of the cooldown of the channel, the key or the model that the failure began or made longer, in milliseconds since
   * 1970. Absent if there was none.
   */
  readonly cooldownUntil?: number;
}

/** A channel, a key or a model of it that is not used for some time. */
export interface Cooldown {
  /** The end of that time, in milliseconds since 1970. */
  readonly until: number;
  /** The kind of the failure that started it. */
  readonly reason: string;
}

/**
 * Whether an image has the mark "made by AI" of the option `marks`, or why it has none.
 *
 * - `marked`: the gateway wrote the mark, or the image had it.
 * - `link`: the client got the provider's link, so the image did not pass through the gateway.
 * - `c2pa`: the image has a C2PA manifest, whose hash a mark would break.
 * - `source_type`: the image's XMP names another source, such as a camera. It stays.
 * - `format`: the image is not PNG, JPEG or WebP.
 * - `broken`: the image is not complete, or not valid.
 * - `xmp`: the XMP of the image cannot be read, or has no room for the mark.
 * - `too_large`: more of the image had to be held than the gateway holds: 4 MiB before its pixels, or a WebP image of 16 MiB.
 */
export type ImageMark =
  | "marked"
  | "link"
  | "c2pa"
  | "source_type"
  | "format"
  | "broken"
  | "xmp"
  | "too_large";
