import { Base64Decoder, Base64Encoder, toBase64 } from "../../images/base64-stream.js";
import type { ByteCount } from "../../util/held-bytes.js";
import { joinChunks } from "../../util/join-chunks.js";
import { type ImageStore, ImageUpload, type StoredLink, StoreError } from "./image-upload.js";

/** A larger image is not passed to `afterImage`, and so it is not delivered. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;
/** An image up to this size is held while it is stored, if the client gets a link and the provider sent only base64. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;

/** Bytes of an image that are held and counted, up to a limit. Above it, nothing is held. */
class KeptBytes {
  readonly #bytes: ByteCount;
  readonly #max: number;
  #chunks: Uint8Array[] = [];
  #length = 0;
  #isOver = false;

  constructor(bytes: ByteCount, max: number) {
    this.#bytes = bytes;
    this.#max = max;
  }

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    if (this.#isOver) return;
    this.#bytes.addAnyway(chunk.length);
    this.#length += chunk.length;
    this.#chunks.push(chunk);
    if (this.#length <= this.#max) return;
    this.#isOver = true;
    this.release();
  }

  /** `undefined` if there were more bytes than the limit. */
  take(): Uint8Array<ArrayBuffer> | undefined {
    return this.#isOver ? undefined : joinChunks(this.#chunks);
  }

  release(): void {
    this.#bytes.remove(this.#length);
    this.#length = 0;
    this.#chunks = [];
  }
}

/** Where an image is that was uploaded, or its base64 if it could not be stored. */
export type UploadEnd =
  | { readonly link: StoredLink; readonly error?: undefined; readonly base64?: undefined }
  | {
      readonly link?: undefined;
      readonly error: StoreError;
      /** In parts. `undefined` if it was not held, so that the image is lost unless its base64 was sent. */
      readonly base64: readonly string[] | undefined;
    };

/**
 * It goes into the store while it arrives. If the store fails while all bytes so far are held, their base64 is sent to the
 * client, and then what arrives.
 */
export class UploadingImage {
  readonly #decoder = new Base64Decoder();
  readonly #upload: ImageUpload;
  readonly #kept: KeptBytes | undefined;
  #forwarded: Base64Encoder | undefined;
  /** The last base64 of an image that is forwarded. */
  #unsent = "";

  /** @param bytes counts the bytes of the image, which are held for the case that the store fails. Default: none are. */
  constructor(store: ImageStore, bytes: ByteCount | undefined) {
    this.#upload = new ImageUpload(store);
    this.#kept = bytes && new KeptBytes(bytes, MAX_KEPT_BYTES);
  }

  /** True if base64 is sent to the client in place of a link. */
  get isForwarded(): boolean {
    return this.#forwarded !== undefined;
  }

  /**
   * @param base64 a part of a JSON string, with its quotes
   * @returns base64 that must be sent to the client, because the image could not be stored. Usually empty.
   */
  push(base64: Uint8Array): Promise<string> {
    return this.#write(this.#decoder.push(base64));
  }

  /** Gives the store the last bytes. */
  async endBytes(): Promise<void> {
    const sent = await this.#write(this.#decoder.end());
    this.#unsent = sent + (this.#forwarded?.end() ?? "");
  }

  /** Ends the upload, after {@link endBytes}. The `base64` of the result is what {@link push} has not returned. */
  async end(): Promise<UploadEnd> {
    try {
      return { link: await this.#upload.end() };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (this.isForwarded) return { error, base64: [this.#unsent] };
      const kept = this.takeKept();
      return { error, base64: kept && kept.length > 0 ? [toBase64(kept)] : undefined };
    }
  }

  /** The number of bytes that are held. */
  get keptBytes(): number {
    return this.#kept?.length ?? 0;
  }

  /** The image, if it was held. */
  takeKept(): Uint8Array<ArrayBuffer> | undefined {
    return this.#kept?.take();
  }

  cancel(cause: unknown): void {
    this.#upload.cancel(cause);
    this.release();
  }

  release(): void {
    this.#kept?.release();
  }

  async #write(chunk: Uint8Array): Promise<string> {
    if (this.#forwarded !== undefined) return this.#forwarded.push(chunk);
    this.#kept?.add(chunk);
    await this.#upload.write(chunk);
    const kept = this.#upload.hasFailed ? this.takeKept() : undefined;
    if (kept === undefined) return "";
    this.release();
    this.#forwarded = new Base64Encoder();
    return this.#forwarded.push(kept);
  }
}

/** It is held, because the operator's function needs the whole image. */
export class HeldImage {
  readonly #decoder = new Base64Decoder();
  readonly #kept: KeptBytes;

  constructor(bytes: ByteCount) {
    this.#kept = new KeptBytes(bytes, MAX_IMAGE_BYTES);
  }

  push(base64: Uint8Array): Promise<string> {
    this.#kept.add(this.#decoder.push(base64));
    return Promise.resolve("");
  }

  /** @throws StoreError if the image is too large */
  end(): Promise<Uint8Array<ArrayBuffer>> {
    this.#kept.add(this.#decoder.end());
    const bytes = this.#kept.take();
    if (bytes === undefined) throw new StoreError(`The image is larger than ${MAX_IMAGE_BYTES} bytes.`);
    return Promise.resolve(bytes);
  }

  cancel(): void {
    this.release();
  }

  release(): void {
    this.#kept.release();
  }
}
