import type { FailureReason, ResultError, Usage } from "./image-request.js";

/**
 * Where a family's answer says what, and how it is read: so that an answer of megabytes is understood as
 * its bytes go by. The names are those of top-level members. Every function is pure.
 */
export interface ResponseShape {
  /** The provider's name of the model. */
  readonly model: string;
  /** When the answer was made. */
  readonly created: string;
  /** The array of images and of items that failed. */
  readonly items: string;
  readonly usage: string;
  /** The error of the whole answer. */
  readonly failure: string;
  /** The provider's request id, where it stands in the body. */
  readonly requestId?: string | undefined;
  /** Whether an item is an image, or why it is none. `index` is its place in the batch. */
  readItem(item: unknown, index: number): "image" | ResultError;
  /** `undefined` where the provider reported nothing that can be used. */
  readUsage(usage: unknown): Usage | undefined;
  /** `undefined` where the member says of no failure. */
  readFailure(failure: unknown): FailureReason | undefined;
  /** Seconds since 1970, or `undefined` where the member says no such thing. */
  readCreated(created: unknown): number | undefined;
}
