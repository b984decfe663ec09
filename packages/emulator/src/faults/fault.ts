import type { ArkErrorCode } from "../ark/error-codes.js";
import type { DashscopeErrorCode } from "../dashscope/error-codes.js";
import type { GeminiErrorCode } from "../gemini/error-codes.js";
import type { OpenaiErrorCode } from "../openai/error-codes.js";
import type { OperationKind } from "../operation-kind.js";
import type { ProviderName } from "../provider-name.js";

/** A number, or a random number from `min` to `max` (both inclusive), determined by the emulator's seed. */
export type Amount = number | { min: number; max: number };

/** How the bytes of a response are transferred. It applies to JSON, errors and streams. */
export interface BodyFault {
  /** Milliseconds between the headers and the first byte. In a stream: before its first event. */
  delayMs?: Amount;
  /**
   * The body is sent in chunks of exactly this size, wherever events begin and end. The sizes of a list are used in
   * turn, again and again. A range gives each chunk a new size. With `listen()` each chunk is an HTTP chunk and a
   * packet of its own, but a busy client may still read several at once.
   */
  chunkBytes?: Amount | readonly number[];
  /** Milliseconds of pause after each chunk. `{ chunkBytes: 100, pauseMs: 50 }` makes a slow response. */
  pauseMs?: Amount;
  /**
   * The connection is cut after this number of bytes: a TCP reset with `listen()`, an error of the body with `fetch`.
   * 0 cuts it directly after the headers. A shorter response arrives whole.
   */
  cutAfterBytes?: Amount;
}

/** How the events of a stream are sent. It does not apply to JSON responses. */
export interface StreamFault {
  /**
   * The connection is cut after this number of events. `completed` and `[DONE]` are events, comments are not. A
   * fraction cuts it inside the next event: 1.5 in the middle of the second. A shorter stream arrives whole.
   */
  cutAfterEvents?: number;
  /** How many times `completed` is sent: 0 omits it, 2 sends it twice. Default 1. Ark and OpenAI's API only. */
  completedEvents?: number;
  /** Lines end with CR LF, or with CR alone, instead of LF. */
  lineEnd?: "crlf" | "cr";
  /** A comment, `: keep-alive`, is sent before each event. */
  comments?: true;
  /** A comment is sent each time this number of milliseconds has passed without an event. */
  keepAliveMs?: number;
}

/** One image of a batch that fails. */
export interface FailedImage {
  /** Zero-based, like `image_index` in Ark's stream. */
  index: number;
  /**
   * Default `OutputImageSensitiveContentDetected` (Ark), `DataInspectionFailed` (DashScope). On Ark a batch goes on
   * after a moderation code, and ends at a code with status 500 or above.
   */
  code?: FaultCode;
  /** Replaces the provider's message. */
  message?: string;
}

/** A code of any provider. Any other string needs a `status` too. */
export type FaultCode = ArkErrorCode | DashscopeErrorCode | OpenaiErrorCode | GeminiErrorCode | (string & {});

/** How a task goes on after it was submitted. BFL, fal, Replicate, relays and DashScope's tasks. */
export interface TaskFault {
  /** How many polls see the task as running, whatever the time. Without it the time decides. */
  runningPolls?: number;
  /** Replicate and relays: the response to the submission has the images already. */
  atOnce?: true;
  /** The task never ends. */
  stuck?: true;
  /**
   * How the task ends: `failed`, refused by `moderation` of the images or of the `request`, `canceled` by the
   * provider, or `lost` (no task has its id any more). Each provider has its own words for these.
   */
  end?: "failed" | "moderation" | "request-moderation" | "canceled" | "lost";
  /** Replaces the provider's code of the failed task. */
  code?: string;
  /** Replaces the provider's message of the failed task. */
  message?: string;
}

/**
 * What goes wrong, in which requests, and how often. Fields of different groups can be combined, but a request has only
 * one outcome: it is refused, it hangs, its response is malformed, or its response has the contents of the last groups.
 */
export interface Fault {
  /** Only requests to this provider. Absent: all, or those that have `code`. */
  provider?: ProviderName;
  /** Only requests whose model, in the body or in the path, is exactly this string. */
  model?: string;
  /**
   * Only requests of this kind. Absent: all requests that make images (`generation`, `edit`, `submit`). Faults of
   * polls, results, cancellations and downloads of links must name it.
   */
  operation?: OperationKind;
  /** How many requests the fault applies to. Absent: all, until `clear()`. */
  times?: number;
  /** The probability that the fault applies to a matching request, 0 to 1. Default 1. The seed determines it. */
  probability?: number;

  /** Milliseconds of delay before the response. A fault with latency alone is added to other faults. */
  latencyMs?: number;

  /** The request is refused with this code. Status and message are those of the provider. */
  code?: FaultCode;
  /** The request is refused with this HTTP status. With `code` and 200, a successful response contains the error. */
  status?: number;
  /** Replaces the provider's message. Ark's request id is appended. */
  message?: string;
  /** Replaces `error.type`. OpenAI and its dialects: `{ status: 429, type: "insufficient_quota" }`. */
  type?: string;
  /** Adds the header `Retry-After` to the refusal. Gemini: a `RetryInfo` in the body instead. */
  retryAfterSeconds?: number;
  /** Adds the header `retry-after-ms` to the refusal. */
  retryAfterMs?: number;
  /** Adds the header `x-should-retry` to the refusal. */
  shouldRetry?: boolean;
  /** The key is refused, even if it is right. */
  wrongKey?: true;

  /** The request gets no response. It ends when the client disconnects. */
  hang?: true;
  /** The connection is reset before the response. `fetch` rejects. */
  hangUp?: true;

  /** The JSON, or the first event of a stream, ends in the middle. `status` applies. */
  malformedJson?: true;
  /** The response has no body. `status` applies: 404 makes the empty 404 that Ark sends. */
  emptyBody?: true;
  /** The format of the response, whatever `stream` requests: JSON instead of events, or the reverse. */
  respondAs?: "json" | "stream";
  /** How the bytes are transferred: late, in pieces, slowly, or cut off. It applies to refusals too. */
  body?: BodyFault;
  /** How the events of a stream are sent: cut off, without an end, with other line ends, with comments. */
  stream?: StreamFault;

  /** The result links in the response have already expired. */
  expiredLinks?: true;
  /** The result links in the response have this origin, such as `http://localhost:4010`. */
  linkOrigin?: string;
  /** BFL, fal and Replicate: the links for polling, results and cancellation have this origin. */
  pollOrigin?: string;
  /** These images of the batch fail. The others are made. */
  failImages?: readonly FailedImage[];
  /** The response is successful, but has no images and counts none. */
  noImages?: true;
  /** The response, and the stream's `completed`, have no `usage`. */
  omitUsage?: true;
  /** Replaces fields of `usage` with values of any type: `{ generated_images: "2", total_tokens: -1 }`. */
  usage?: Readonly<Record<string, unknown>>;

  /** Ark, OpenAI: the stream ends with `event: error` (with `code` and `message`) after this number of images. */
  streamErrorAfterImages?: number;
  /** OpenAI: the stream ends with `event: error` after this number of events, for example after a partial image. */
  streamErrorAfterEvents?: number;
  /** Ark: the stream ends without `data: [DONE]`. */
  omitDone?: true;
  /** OpenAI: the stream ends with `data: [DONE]`. */
  sendDone?: true;
  /** Ark, OpenAI: the stream contains an event that is not documented. */
  unknownEvents?: true;

  /** Gemini: the candidate has no image and this `finishReason`, such as `IMAGE_SAFETY` or `NO_IMAGE`. */
  finishReason?: string;
  /** Gemini: there is no candidate, and `promptFeedback` has this `blockReason`, such as `SAFETY`. */
  blockReason?: string;
  /** Gemini: the response has parts with `thought: true`, one of them a draft image. */
  thoughts?: true;
  /** Gemini: the number of images in the response. */
  imagesPerResponse?: number;

  /** BFL, fal, Replicate, relays, DashScope's tasks: how the task goes on. It applies to the submission. */
  task?: TaskFault;

  /** DashScope: each image is in a choice of its own. */
  severalChoices?: true;
  /** DashScope: the count is `usage.output_image_count`, also for models that call it `image_count`. */
  outputImageCount?: true;
  /** DashScope: a rewritten prompt is in the response, as a `text` item after the first images. */
  rewrittenPrompt?: string;
}
