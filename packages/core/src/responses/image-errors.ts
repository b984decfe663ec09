import { GatewayError, isGatewayError, shownCodeOf } from "../errors.js";
import type { Logger } from "../logger.js";
import { StoreError } from "../results/image-upload.js";
import type { ResultError } from "../types.js";
import { DownloadError } from "../upstream/download.js";

/** What went wrong with the images of one response: the entries of `extra.errors`, and the images that were not delivered. */
export class ImageErrors {
  readonly #errors: ResultError[] = [];
  readonly #logger: Logger;
  /** Why the first image was not delivered at all, if one was not. */
  #refusal: GatewayError | undefined;
  /** The number of images that were not delivered at all. */
  #refused = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** The entries of `extra.errors` so far, in the order of the images. */
  get list(): readonly ResultError[] {
    return this.#errors.toSorted((a, b) => a.index - b.index);
  }

  /**
   * The error to respond with if no image was delivered, because the operator refused all of them.
   *
   * @param images the number of images of the response
   */
  findRefusal(images: number): GatewayError | undefined {
    return this.#refused >= images ? this.#refusal : undefined;
  }

  /**
   * Adds the error of an image that could not be downloaded or stored.
   *
   * @throws every other error
   */
  add(error: unknown, index: number): void {
    if (error instanceof DownloadError) {
      this.#errors.push({ index, code: "image_download_failed", message: error.message });
      return;
    }
    if (!(error instanceof StoreError)) throw error;
    this.#logger.error({ err: error.cause ?? error }, error.message);
    this.#errors.push({ index, code: "image_not_stored", message: error.message });
  }

  /** Counts an image that is not delivered, because it cannot be read. Its error was added. */
  refuseUnread(cause: unknown): undefined {
    const message = cause instanceof Error ? cause.message : UNCHECKED;
    this.#refuse(new GatewayError("upstream_invalid_response", message, { cause, shouldRetry: false }));
  }

  /** Adds the error of the operator's function, and counts its image as not delivered. */
  refuseByOperator(error: unknown, index: number): undefined {
    if (isGatewayError(error)) {
      this.#errors.push({ index, code: shownCodeOf(error), message: error.message });
      return this.#refuse(error);
    }
    this.#logger.error({ err: error }, "afterImage failed, so the image was not delivered.");
    this.#errors.push({ index, code: "internal_error", message: UNCHECKED });
    this.#refuse(new GatewayError("internal_error", UNCHECKED, { cause: error, shouldRetry: false }));
  }

  #refuse(error: GatewayError): undefined {
    this.#refused++;
    this.#refusal ??= error;
  }
}

const UNCHECKED = "The image could not be checked.";

/** The store failed at the end of an image that was too large to be held. */
export function toLostError(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const { message, cause = error } = error;
  return new StoreError(`${message} It is too large to be delivered in another way, so it is lost.`, {
    cause,
  });
}
