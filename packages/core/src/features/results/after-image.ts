import type { Operation } from "../../types.js";

/** An image that was made and has not been delivered yet. */
export interface FinishedImage {
  /** The whole image. */
  bytes(): Promise<Uint8Array>;
  /** The media type, detected from the bytes; `application/octet-stream` if it is unknown. */
  readonly contentType: string;
  /** The size that the provider stated, `<width>x<height>`. `undefined` if it stated none. */
  readonly size: string | undefined;
}

/** The request that an image belongs to. */
export interface AfterImageCall {
  /** The request's id, which the client gets in `x-request-id`. */
  readonly id: string;
  /** The caller's id. */
  readonly caller: string;
  /** The service model. */
  readonly model: string;
  /** Whether the image was generated, is an edit, or was requested on a native endpoint. */
  readonly operation: Operation;
  /** The prompt of the client. */
  readonly prompt: string;
  /**
   * The index of the image among those of the request, from 0. Images that failed have an index too, so there may be gaps.
   * JSON has its images in the order of their indexes. If the provider streams, images are counted as they arrive.
   *
   * If the request takes several upstream calls, the index is that of the call, also in a stream, where the images of calls
   * arrive in any order. Of calls that can make several images (layers), each has as many indexes as it can make images.
   */
  readonly index: number;
}

/**
 * The operator's function for each image, before it is stored and delivered. It may return other bytes, for example with a
 * label or a statement of provenance. To refuse the image, throw a `GatewayError`: the image is charged, and listed in
 * `extra.errors`. If it throws anything else, takes longer than `results.timeoutSeconds`, or returns something else than
 * bytes, the image is not delivered either.
 */
export type AfterImage = (
  image: FinishedImage,
  call: AfterImageCall,
) => Uint8Array | undefined | void | Promise<Uint8Array | undefined | void>;
