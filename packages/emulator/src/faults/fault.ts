import type { ArkErrorCode } from "../ark/error-codes.js";
import type { DashscopeErrorCode } from "../dashscope/error-codes.js";
import type { ProviderName } from "../provider-name.js";
import type { BodyFault } from "./body-fault.js";
import type { StreamFault } from "./stream-fault.js";

/** One image of a batch that is not made. */
export interface FailedImage {
  /** Zero-based, as `image_index` in Ark's stream. */
  index: number;
  /**
   * Default `OutputImageSensitiveContentDetected` (Ark), `DataInspectionFailed` (DashScope). On Ark a
   * moderation code lets the batch go on; a code of status 500 or above ends it.
   */
  code?: FaultCode;
  message?: string;
}

/** A code of either provider; any other string needs a `status` beside it. */
export type FaultCode = ArkErrorCode | DashscopeErrorCode | (string & {});

/**
 * What goes wrong, with which requests, and how often. The groups combine, save that a request is either
 * refused, or left hanging, or answered with a broken body, or answered with the flaws of the last groups.
 */
export interface Fault {
  /** Only with this provider. Absent: both, or the one that knows `code`. */
  provider?: ProviderName;
  /** Only when the request's `model` is exactly this. */
  model?: string;
  /** How many requests it meets before it is used up. Absent: all until `clear()`. */
  times?: number;
  /** How likely it meets a matching request, 0 to 1, drawn from the emulator's seed. Default 1. */
  probability?: number;

  /** Milliseconds of delay before anything is answered. Alone, it slows down whatever else happens. */
  latencyMs?: number;

  /** The request is refused with this code; status and message come from the provider's table. */
  code?: FaultCode;
  /** The request is refused with this HTTP status. With `code` and 200 the error stands in a successful answer. */
  status?: number;
  /** In place of the table's message. Ark's request id is appended. */
  message?: string;
  /** Adds the header `Retry-After` to the refusal. */
  retryAfterSeconds?: number;
  /** The key is refused, whichever it is. */
  wrongKey?: true;

  /** Nothing is answered until the client leaves. */
  hang?: true;
  /** The connection is reset before anything is answered; `fetch` fails. */
  hangUp?: true;

  /** The JSON, or the first event of a stream, breaks off in the middle. `status` applies. */
  malformedJson?: true;
  /** The answer has no body. `status` applies: with 404 it is the empty one that Ark is known for. */
  emptyBody?: true;
  /** The form of the answer, whatever `stream` asked for: JSON in place of events, or the reverse. */
  answerAs?: "json" | "stream";
  /** How the bytes travel: late, in pieces, slowly, or cut off. Of refusals as well. */
  body?: BodyFault;
  /** How the events of a stream are sent: cut off, without an end, with other line ends, with comments. */
  stream?: StreamFault;

  /** The result links of the answer have expired already. */
  expiredLinks?: true;
  /** These images of the batch fail, the others are made. */
  failImages?: readonly FailedImage[];
  /** The answer succeeds without any image, and counts none. */
  noImages?: true;
  /** The answer, and the stream's `completed`, carry no `usage`. */
  omitUsage?: true;
  /** Put over the fields of `usage`, of any type: `{ generated_images: "2", total_tokens: -1 }`. */
  usage?: Readonly<Record<string, unknown>>;

  /** Ark: the stream breaks with `event: error` (of `code` and `message`) after so many images. */
  streamErrorAfterImages?: number;
  /** Ark: the stream ends without `data: [DONE]`. */
  omitDone?: true;
  /** Ark: the stream carries events of a kind that the documents do not name. */
  unknownEvents?: true;

  /** DashScope: every image stands in a choice of its own. */
  severalChoices?: true;
  /** DashScope: the count is `usage.output_image_count`, also for models that call it `image_count`. */
  outputImageCount?: true;
  /** DashScope: this rewritten prompt stands as a `text` item beside the images. */
  rewrittenPrompt?: string;
}
