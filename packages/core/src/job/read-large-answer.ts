import type { ResponseShape } from "../answer-shape.js";
import type { GatewayError } from "../errors.js";
import { maskReason } from "../mask-reason.js";
import type { SecretMask } from "../mask-secrets.js";
import type { Awaitable } from "../promise-like.js";
import type { ResponseFacts } from "../response/read-facts.js";
import { createResponseRewriter, type LinkedImage, type RewriteOptions } from "../response/rewrite-answer.js";
import { notJsonError, readRequestId, tooLargeError } from "../upstream/read-answer.js";
import type { TransportResponse } from "../upstream/transport.js";
import type { FetchedImage } from "./fetch-as-base64.js";
import { findNoImageError } from "./no-image-error.js";

const encoder = new TextEncoder();

/** A large answer as it goes by: what goes on of it, what it says, and what is wrong with it. */
export interface LargeResponseReader {
  readonly facts: ResponseFacts;
  /** A promise only if images are downloaded first. */
  pass(chunk: Uint8Array): Awaitable<readonly Uint8Array[]>;
  passEnd(): readonly Uint8Array[];
  /** True when the answer is complete, where its last byte is the provider's own. */
  isLast(): boolean;
  /** So much has come. */
  readonly byteLength: number;
  /** Whether more has come than an answer may have. */
  readonly isTooLarge: boolean;
  /** Why it is no JSON answer that can be relayed; `undefined` where nothing is wrong so far. */
  findFlaw(hasEnded: boolean): GatewayError | undefined;
  /** What the provider made no image for, or none that counts, as far as it has said. */
  findRefusal(): GatewayError | undefined;
}

/** How one answer is read. */
export interface LargeResponseOptions extends Omit<RewriteOptions, "convertsLinks"> {
  readonly maxBytes: number;
  /** Converts images that are links. If absent, they stay links. */
  readonly fetchLinks?: ((links: readonly LinkedImage[]) => Promise<readonly FetchedImage[]>) | undefined;
  /** Takes keys out of what the provider says of failures. */
  readonly mask: SecretMask;
}

/** A reader of one answer. */
export function readLargeResponse(
  response: TransportResponse,
  { maxBytes, mask, fetchLinks, ...options }: LargeResponseOptions,
): LargeResponseReader {
  const rewriter = createResponseRewriter({
    ...options,
    shape: maskErrors(options.shape, mask),
    convertsLinks: fetchLinks !== undefined,
  });
  const { facts } = rewriter;
  let length = 0;

  const convert = async (pieces: readonly (Uint8Array | LinkedImage)[]): Promise<readonly Uint8Array[]> => {
    const fetched = (await fetchLinks?.(pieces.filter(isLinkedImage))) ?? [];
    const images = fetched.values();
    for (const { error } of fetched) if (error !== undefined) rewriter.addLinkError(error);
    return pieces.map((piece) =>
      isBytes(piece) ? piece : encoder.encode(JSON.stringify(images.next().value?.image ?? piece.image)),
    );
  };

  return {
    facts,
    get byteLength() {
      return length;
    },
    get isTooLarge() {
      return length > maxBytes;
    },
    pass(chunk) {
      length += chunk.length;
      const pieces = rewriter.push(chunk);
      return pieces.every(isBytes) ? pieces : convert(pieces);
    },
    passEnd: () => rewriter.end(),
    isLast: () => options.isNative === true && rewriter.status === "complete",
    findFlaw(hasEnded) {
      if (length > maxBytes) return tooLargeError(maxBytes, response);
      const isCut = hasEnded && rewriter.status === "open";
      return isCut || rewriter.status === "broken" ? notJsonError(response) : undefined;
    },
    findRefusal() {
      const upstreamRequestId = readRequestId(response) ?? facts.upstreamRequestId;
      return findNoImageError(facts.images, { ...facts, upstreamRequestId });
    },
  };
}

function isLinkedImage(piece: Uint8Array | LinkedImage): piece is LinkedImage {
  return !isBytes(piece);
}

function isBytes(piece: Uint8Array | LinkedImage): piece is Uint8Array {
  return piece instanceof Uint8Array;
}

function maskErrors(shape: ResponseShape, mask: SecretMask): ResponseShape {
  return {
    ...shape,
    readItem(item, index) {
      const verdict = shape.readItem(item, index);
      return verdict === "image" ? verdict : maskReason(verdict, mask);
    },
    readFailure(failure) {
      const reason = shape.readFailure(failure);
      return reason && maskReason(reason, mask);
    },
  };
}
