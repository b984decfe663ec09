import type { GatewayError } from "../errors.js";
import type { ResultError } from "../types.js";
import { DownloadError } from "../upstream/download.js";

/** What went wrong with the images of one response, and how many of them were not delivered. */
export class ImageErrors {
  readonly #errors: ResultError[] = [];
  /** Why the first image was not delivered at all, if one was not. */
  #refusal: GatewayError | undefined;
  /** The number of images that were not delivered at all. */
  #refused = 0;

  /** The entries of `extra.errors` so far, in the order of the images. */
  get list(): readonly ResultError[] {
    return this.#errors.toSorted((a, b) => a.index - b.index);
  }

  /** The error of the image with this index. */
  find(index: number): ResultError | undefined {
    return this.#errors.find((error) => error.index === index);
  }

  /**
   * Adds the error of an image that could not be downloaded.
   *
   * @throws every other error
   */
  add(error: unknown, index: number): void {
    if (!(error instanceof DownloadError)) throw error;
    this.push({ index, code: error.code, message: error.message });
  }

  /** Counts an image that is not delivered. */
  refuse(error: GatewayError): undefined {
    this.#refused++;
    this.#refusal ??= error;
  }

  /**
   * The error to respond with if no image was delivered, because all of them were refused.
   *
   * @param images the number of images of the response
   */
  findRefusal(images: number): GatewayError | undefined {
    return this.#refused >= images ? this.#refusal : undefined;
  }

  protected push(error: ResultError): void {
    this.#errors.push(error);
  }
}
