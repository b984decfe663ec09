import type { ResponseShape } from "../families/response-shape.js";
import { countItems, readMadeImage } from "../families/shared.js";
import type { MadeImage, ReportedFailure, ResultError, Usage } from "../types.js";
import type { JsonObject } from "../util/json.js";
import { completeUsage } from "./openai-usage.js";

/** What a response has said so far. */
export interface ResponseFacts {
  /** The number of images that have arrived or begun. */
  readonly images: number;
  /** What the response says about each image that has arrived. An image that has begun is not among them. */
  readonly made: readonly MadeImage[];
  /** Items that failed, each with its index in the provider's batch. */
  readonly errors: readonly ResultError[];
  /** The error of the whole response. */
  readonly failure: ReportedFailure | undefined;
  readonly usage: Usage | undefined;
  /** The usage as the client gets it. `undefined`: the provider reported none. */
  readonly report: JsonObject | undefined;
  /** The provider's request id in the body. */
  readonly upstreamRequestId: string | undefined;
}

/** Collects the facts of a response from its members, one after another. It is also what the response has said so far. */
export class FactReader implements ResponseFacts {
  images = 0;
  readonly errors: ResultError[] = [];
  failure: ReportedFailure | undefined;
  report: JsonObject | undefined;
  upstreamRequestId: string | undefined;
  readonly #shape: ResponseShape;
  readonly #isComplete: () => boolean;
  readonly #made: MadeImage[] = [];
  #usage: Usage | undefined;
  #ofAllImages: MadeImage | undefined;

  /**
   * @param shape where things are in the response
   * @param isComplete whether all of the response has arrived
   */
  constructor(shape: ResponseShape, isComplete: () => boolean) {
    this.#shape = shape;
    this.#isComplete = isComplete;
  }

  get made(): readonly MadeImage[] {
    const ofAllImages = this.#ofAllImages;
    return ofAllImages === undefined ? this.#made : this.#made.map((image) => ({ ...ofAllImages, ...image }));
  }

  get usage(): Usage | undefined {
    // A client can use no image of JSON that broke off.
    const countsItems = this.#shape.countsItems === true && this.#isComplete();
    return countsItems ? countItems(this.#usage, this.images) : this.#usage;
  }

  /** Reads the value of a member. If a member occurs twice, the last one counts, as for `JSON.parse`. */
  readMember(name: string, value: unknown): void {
    const shape = this.#shape;
    if (name === shape.items) this.#forgetItems();
    if (name === shape.failure) this.failure = shape.readFailure(value);
    if (name === shape.usage) {
      this.#usage = shape.readUsage(value);
      this.report = completeUsage(value, this.#usage);
    }
    if (name === shape.requestId) this.upstreamRequestId = toNonEmptyString(value);
    if (shape.ofAllImages?.some((member) => member === name) === true) {
      this.#ofAllImages = { ...this.#ofAllImages, ...readMadeImage({ [name]: value }) };
    }
  }

  /** Reads an item. Returns true if it is an image. */
  readItem(item: unknown): boolean {
    const read = this.#shape.readItem(item, this.images + this.errors.length);
    if (read !== "image") {
      this.errors.push(read);
      return false;
    }
    this.images++;
    this.readImage(item);
    return true;
  }

  /** Whether an item is an image. Does not count it. */
  isImage(item: unknown): boolean {
    return this.#shape.readItem(item, 0) === "image";
  }

  /** Counts an image that is too large to be read. */
  countImage(): void {
    this.images++;
  }

  /** Reads an image that was counted before, when it has ended. */
  readImage(item: unknown): void {
    this.#made.push(readMadeImage(item));
  }

  #forgetItems(): void {
    this.images = 0;
    this.errors.length = 0;
    this.#made.length = 0;
  }
}

/** The entries of `extra.errors` in events: the failure of the whole response comes after those of images. */
export function listErrors(
  { images, errors, failure }: Pick<ResponseFacts, "images" | "errors" | "failure">,
  linkErrors: readonly ResultError[],
): readonly ResultError[] {
  const ofResponse = failure === undefined ? [] : [{ index: images + errors.length, ...failure }];
  return [...errors, ...linkErrors, ...ofResponse];
}

function toNonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
