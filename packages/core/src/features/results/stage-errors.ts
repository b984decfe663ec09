import { GatewayError, isGatewayError, shownCodeOf } from "../../errors.js";
import type { Logger } from "../../logger.js";
import { ImageErrors } from "../../responses/image-errors.js";
import { StoreError } from "./image-upload.js";

/** As {@link ImageErrors}, for images that are stored. */
export class StageErrors extends ImageErrors {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    super();
    this.#logger = logger;
  }

  /**
   * Adds the error of an image that could not be downloaded or stored.
   *
   * @throws every other error
   */
  override add(error: unknown, index: number): void {
    if (!(error instanceof StoreError)) return super.add(error, index);
    this.#logger.error({ err: error.cause ?? error }, error.message);
    this.push({ index, code: "image_not_stored", message: error.message });
  }

  /** Counts an image that is not delivered, because it cannot be read. Its error was added. */
  refuseUnread(cause: unknown): undefined {
    const message = cause instanceof Error ? cause.message : UNCHECKED;
    this.refuse(new GatewayError("upstream_invalid_response", message, { cause, shouldRetry: false }));
  }

  /** Adds the error of the operator's function, and counts its image as not delivered. */
  refuseByOperator(error: unknown, index: number): undefined {
    if (isGatewayError(error)) {
      this.push({ index, code: shownCodeOf(error), message: error.message });
      return this.refuse(error);
    }
    this.#logger.error({ err: error }, "afterImage failed, so the image was not delivered.");
    this.push({ index, code: "internal_error", message: UNCHECKED });
    this.refuse(new GatewayError("internal_error", UNCHECKED, { cause: error, shouldRetry: false }));
  }
}

const UNCHECKED = "The image could not be checked.";

/** The store failed at the end of an image that was too large to be held. */
export function toLostError(error: StoreError): StoreError {
  const { message, cause = error } = error;
  return new StoreError(`${message} It is too large to be delivered in another way, so it is lost.`, {
    cause,
  });
}
