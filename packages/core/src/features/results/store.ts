/** An image for a store. */
export interface ImageToStore {
  /** The image's id: 32 hexadecimal digits, which cannot be guessed. Safe as the name of a file and in a URL. */
  readonly id: string;
  /** The media type, detected from the first bytes, such as `image/png`. `application/octet-stream` if it is unknown. */
  readonly contentType: string;
  /**
   * The bytes in order. Read them once, as fast as the store accepts them: the provider waits for the store. They may be
   * any number of chunks of any size, and the memory of a chunk must not be used after the next one was requested. If
   * reading throws, the image is not complete, and nothing of it may be kept.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** The number of bytes, if it is known before they are read. */
  readonly byteLength?: number | undefined;
  /** When the image may be deleted. */
  readonly expiresAt: Date;
  /** Aborted if the gateway does not wait any longer. The store should then stop, and keep nothing of the image. */
  readonly signal: AbortSignal;
}

/** A part of an image: the first and the last byte, counted from 0. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** A stored image that is being read. */
export interface StoredImage {
  /** The media type that {@link ResultStore.put} got. */
  readonly contentType: string;
  /** The number of bytes of the whole image. */
  readonly byteLength: number;
  /** The bytes of the whole image, or of the requested range. Call `return()` of the iterator to stop early. */
  readonly body: AsyncIterable<Uint8Array>;
}

/**
 * Keeps the images of results. `@calotype/node` has one for files, `@calotype/s3` one for S3 and compatible services. An
 * image is never changed: each has an id of its own.
 */
export interface ResultStore {
  /** Stores an image. Resolves when it is stored. If it rejects, nothing of the image may be kept. */
  put(image: ImageToStore): Promise<void>;
  /**
   * Returns a link under which a client can read the image until it expires: a public or a presigned URL. Absent: the
   * store has no links, and the gateway serves the images itself.
   */
  link?(image: Pick<ImageToStore, "id" | "contentType" | "expiresAt">): string | Promise<string>;
  /**
   * The longest time for which {@link link} can make links, in seconds. Options with a longer `ttlSeconds` fail at
   * startup. Default: any time.
   */
  readonly maxLinkSeconds?: number | undefined;
  /**
   * Opens an image. Returns `undefined` if there is none, for example because it has expired. Needed if the gateway serves
   * the images. With it, base64 that waits for other calls of the same request is read from the store when it is sent, and
   * is not held in memory.
   *
   * @param range Default: the whole image. Always within the image.
   */
  open?(id: string, range?: ByteRange): Promise<StoredImage | undefined>;
  /**
   * Deletes an image before it expires. Used for what a task no longer needs. Absent: it stays until it expires. An unknown id
   * is not an error.
   */
  remove?(id: string): Promise<void>;
  /** Deletes images that expired before this time. Called about once an hour by each process. */
  sweep?(before: Date): Promise<void>;
  /**
   * Returns secrets for the gateway's links, if the store keeps some. The first one signs, all of them verify. Used
   * without the option `results.secrets`.
   */
  readSecrets?(): Promise<readonly string[]>;
}

/** A store that is a function: it stores an image and returns the link under which clients can read it. */
export type StoreImage = (image: ImageToStore) => Promise<string>;
