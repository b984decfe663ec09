import type { ResponseShape } from "../families/response-shape.js";
import { countItems, readMadeImage } from "../families/shared.js";
import type { MadeImage, ReportedFailure, ResultError, Usage } from "../types.js";

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
  /** The usage as the client gets it. */
  readonly report: unknown;
  /** The provider's request id in the body. */
  readonly upstreamRequestId: string | undefined;
}

/** Collects the facts of a response from its members, one after another. */
export interface FactReader {
  /** Always the same object. */
  readonly facts: ResponseFacts;
  /** Reads the value of a member. If a member occurs twice, the last one counts, as for `JSON.parse`. */
  readMember(name: string, value: unknown): void;
  /** Reads an item. Returns true if it is an image. */
  readItem(item: unknown): boolean;
  /** Whether an item is an image. Does not count it. */
  isImage(item: unknown): boolean;
  /** Counts an image that is too large to be read. */
  countImage(): void;
  /** Reads an image that was counted before, when it has ended. */
  readImage(item: unknown): void;
}

/**
 * @param shape where things are in the response
 * @param isComplete whether all of the response has arrived
 */
export function createFactReader(shape: ResponseShape, isComplete: () => boolean): FactReader {
  const errors: ResultError[] = [];
  const made: MadeImage[] = [];
  let usage: Usage | undefined;
  let ofAllImages: MadeImage = {};
  const facts: { -readonly [Key in keyof ResponseFacts]: ResponseFacts[Key] } = {
    images: 0,
    get made() {
      return shape.ofAllImages === undefined ? made : made.map((image) => ({ ...ofAllImages, ...image }));
    },
    errors,
    failure: undefined,
    report: undefined,
    get usage() {
      // A client can use no image of JSON that broke off.
      return shape.countsItems === true && isComplete() ? countItems(usage, facts.images) : usage;
    },
    upstreamRequestId: undefined,
  };

  const forgetItems = (): void => {
    facts.images = 0;
    errors.length = 0;
    made.length = 0;
  };

  const readImage = (item: unknown): void => void made.push(readMadeImage(item));

  return {
    facts,
    readMember(name, value) {
      if (name === shape.items) forgetItems();
      if (name === shape.failure) facts.failure = shape.readFailure(value);
      if (name === shape.usage) {
        usage = shape.readUsage(value);
        facts.report = value;
      }
      if (name === shape.requestId) facts.upstreamRequestId = toNonEmptyString(value);
      if (shape.ofAllImages?.some((member) => member === name) === true) {
        ofAllImages = { ...ofAllImages, ...readMadeImage({ [name]: value }) };
      }
    },
    readItem(item) {
      const read = shape.readItem(item, facts.images + errors.length);
      if (read !== "image") {
        errors.push(read);
        return false;
      }
      facts.images++;
      readImage(item);
      return true;
    },
    isImage: (item) => shape.readItem(item, 0) === "image",
    countImage() {
      facts.images++;
    },
    readImage,
  };
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
