import type { AnswerShape } from "./answer-shape.js";
import type { GatewayError } from "./errors.js";
import type { SecretMask } from "./mask-secrets.js";
import { noImageError } from "./no-image-error.js";
import type { AnswerFacts } from "./response/read-facts.js";
import { createAnswerRewriter, type RewriteOptions } from "./response/rewrite-answer.js";
import { notJsonError, readRequestId, tooLargeError } from "./upstream/read-answer.js";
import type { TransportResponse } from "./upstream/transport.js";

/** A large answer as it goes by: what goes on of it, what it says, and what is wrong with it. */
export interface LargeAnswerReader {
  readonly facts: AnswerFacts;
  pass(chunk: Uint8Array): readonly Uint8Array[];
  passEnd(): readonly Uint8Array[];
  /** Why it must not be taken for an answer; `undefined` where nothing is wrong so far. */
  findFlaw(hasEnded: boolean): GatewayError | undefined;
}

/** How one answer is read. */
export interface LargeAnswerOptions extends RewriteOptions {
  readonly maxBytes: number;
  /** Takes keys out of what the provider says of failures. */
  readonly mask: SecretMask;
}

/** A reader of one answer. */
export function readLargeAnswer(
  response: TransportResponse,
  { maxBytes, mask, ...options }: LargeAnswerOptions,
): LargeAnswerReader {
  const rewriter = createAnswerRewriter({ ...options, shape: maskErrors(options.shape, mask) });
  const { facts } = rewriter;
  let length = 0;
  return {
    facts,
    pass(chunk) {
      length += chunk.length;
      return rewriter.push(chunk);
    },
    passEnd: () => rewriter.end(),
    findFlaw(hasEnded) {
      if (length > maxBytes) return tooLargeError(maxBytes, response);
      const isCut = hasEnded && rewriter.status === "open";
      if (isCut || rewriter.status === "broken") return notJsonError(response);
      // The native endpoint passes every JSON answer on, one without an image too.
      const isNoAnswer = facts.failure !== undefined || (hasEnded && facts.images === 0);
      if (options.isNative === true || !isNoAnswer) return undefined;
      return noImageError({
        ...facts,
        upstreamRequestId: readRequestId(response) ?? facts.upstreamRequestId,
      });
    },
  };
}

/** Providers quote the key they refuse, also in answers of HTTP 200. */
function maskErrors(shape: AnswerShape, mask: SecretMask): AnswerShape {
  const maskReason = <R extends { readonly code: string; readonly message: string }>(reason: R): R => ({
    ...reason,
    code: mask(reason.code),
    message: mask(reason.message),
  });
  return {
    ...shape,
    readItem(item, index) {
      const verdict = shape.readItem(item, index);
      return verdict === "image" ? verdict : maskReason(verdict);
    },
    readFailure(failure) {
      const reason = shape.readFailure(failure);
      return reason && maskReason(reason);
    },
  };
}
