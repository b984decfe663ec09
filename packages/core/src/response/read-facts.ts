import type { ResponseShape } from "../answer-shape.js";
import type { FailureReason, ResultError, Usage } from "../image-request.js";

/** What an answer has said so far. */
export interface ResponseFacts {
  /** Images that came, or have begun to. */
  readonly images: number;
  /** Items that failed, each with its index in the provider's batch. */
  readonly errors: readonly ResultError[];
  /** The error of the whole answer. */
  readonly failure: FailureReason | undefined;
  readonly usage: Usage | undefined;
  /** The provider's request id, where it stands in the body. */
  readonly upstreamRequestId: string | undefined;
}

/** Learns what an answer says from its members, one after another. */
export interface FactReader {
  /** The same object all along. */
  readonly facts: ResponseFacts;
  /** A member's value. Of a member given twice the last one counts, as it does for `JSON.parse`. */
  readMember(name: string, value: unknown): void;
  /** An item: true where it is an image. */
  readItem(item: unknown): boolean;
  /** Whether an item is an image. Counts nothing. */
  isImage(item: unknown): boolean;
  /** Counts an image that is too large to be read. */
  countImage(): void;
}

export function createFactReader(shape: ResponseShape): FactReader {
  const errors: ResultError[] = [];
  const facts: { -readonly [Key in keyof ResponseFacts]: ResponseFacts[Key] } = {
    images: 0,
    errors,
    failure: undefined,
    usage: undefined,
    upstreamRequestId: undefined,
  };

  const forgetItems = (): void => {
    facts.images = 0;
    errors.length = 0;
  };

  return {
    facts,
    readMember(name, value) {
      if (name === shape.items) forgetItems();
      if (name === shape.failure) facts.failure = shape.readFailure(value);
      if (name === shape.usage) facts.usage = shape.readUsage(value);
      if (name === shape.requestId) facts.upstreamRequestId = toText(value);
    },
    readItem(item) {
      const verdict = shape.readItem(item, facts.images + errors.length);
      if (verdict === "image") facts.images++;
      else errors.push(verdict);
      return verdict === "image";
    },
    isImage: (item) => shape.readItem(item, 0) === "image",
    countImage() {
      facts.images++;
    },
  };
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
