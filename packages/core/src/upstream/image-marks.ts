import type { RecordedMarks } from "../billing/outcome.js";
import type { Dialect } from "../families/dialect.js";
import type { ImageRequest } from "../types.js";
import type { ByteCount } from "../util/held-bytes.js";
import { DownloadError } from "./download.js";
import type { Transport } from "./transport.js";

/** Writes a mark into the images of calls while their bytes arrive. */
export interface ImageMarking {
  /**
   * Checks a request before its hold.
   *
   * @throws GatewayError `invalid_request_error` if its images could not be marked, and must be
   */
  check(request: ImageRequest): void;
  /** Opens the marks of one attempt. */
  open(attempt: MarkedAttempt): CallMarks;
}

/** The attempt whose images are marked. */
export interface MarkedAttempt {
  /** The id of the client's request. */
  readonly id: string;
  /** The id of the channel. */
  readonly channel: string;
  readonly dialect: Dialect;
  readonly request: ImageRequest;
  /** Counts what is held of an image. */
  readonly bytes: ByteCount;
}

/** The marks of the images that one attempt made. */
export interface CallMarks extends RecordedMarks {
  /** Returns a transport that marks the images in base64 of the provider's responses. */
  wrap(transport: Transport): Transport;
  /**
   * Marks an image that is downloaded. Resolves when it is known whether it can be marked.
   *
   * @throws WithheldError if it cannot, and must be; and the errors of `chunks`
   */
  open(chunks: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>>;
  /**
   * Marks an image that the operator's `afterImage` has changed.
   *
   * @throws WithheldError if it cannot be marked, and must be
   */
  markAgain(image: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>;
}

/** An image could not be marked, so it is not delivered. The client may see the message. */
export class WithheldError extends DownloadError {
  override readonly code = "image_not_marked";
}
