import type { ImageMark } from "../../types.js";
import type { ByteCount } from "../../util/held-bytes.js";
import { joinChunks } from "../../util/join-chunks.js";
import { applyChanges, type HeadResult, hasText } from "./head.js";
import { readJpeg } from "./jpeg.js";
import type { Mark } from "./mark.js";
import { PNG_SIGNATURE, PngTail, readPng } from "./png.js";
import { MAX_WEBP_BYTES, readWebp } from "./webp.js";

/** The most bytes before the pixels of an image that are held. Large metadata are colour profiles and previews. */
const MAX_HEAD_BYTES = 4 * 1024 * 1024;
/** The number of bytes that tell the format of an image. */
const SIGNATURE_BYTES = 12;
/** The bytes up to which the beginning of an image is read again with each piece. Beyond, it must have grown by a quarter. */
const SMALL_HEAD_BYTES = 64 * 1024;

/**
 * Marks one image while its bytes pass. It holds the bytes before the pixels, where the metadata is, and the whole of a WebP image.
 * An image that cannot be marked is passed on as it is.
 */
export class ImageMarker {
  /** True once the first bytes were those of PNG, JPEG or WebP. */
  isKnownFormat = false;
  readonly #mark: Mark;
  readonly #count: ByteCount | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The number of bytes that are needed to read on. */
  #needs = SIGNATURE_BYTES;
  #result: ImageMark | undefined;
  /** Reads a marked PNG after its head. */
  #tail: PngTail | undefined;

  /** @param count counts what is held */
  constructor(mark: Mark, count: ByteCount | undefined) {
    this.#mark = mark;
    this.#count = count;
  }

  /** `undefined` until it is known. Before that, nothing is passed on. */
  get result(): ImageMark | undefined {
    return this.hasBrokenManifest ? "c2pa" : this.#result;
  }

  /** True if the mark broke the hash of a C2PA manifest that came after it. Only a PNG can have that. */
  get hasBrokenManifest(): boolean {
    return this.#tail?.hasManifest === true;
  }

  /** Returns what is passed on. The memory of the chunk may be used again after that of what is returned. */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    if (this.#result !== undefined) {
      this.#tail?.push(chunk);
      return [chunk];
    }
    if (chunk.length === 0) return [];
    // Copied, because the memory of the chunk may be used again. `slice` of a `Buffer` would be a view.
    this.#held.push(new Uint8Array(chunk));
    this.#heldBytes += chunk.length;
    this.#count?.addAnyway(chunk.length);
    return this.#heldBytes < this.#needs ? [] : this.#read();
  }

  /** Returns what is passed on at the end of the image. */
  end(): readonly Uint8Array[] {
    if (this.#result !== undefined) return [];
    // More may have arrived than was read.
    const passed = this.#heldBytes < SIGNATURE_BYTES ? [] : this.#read();
    return this.result === undefined ? this.#pass("broken", this.#held) : passed;
  }

  /** Nothing more comes, and nothing is held any more. */
  cancel(): void {
    this.#result ??= "broken";
    this.#count?.remove(this.#heldBytes);
    this.#heldBytes = 0;
    this.#held = [];
  }

  #read(): readonly Uint8Array[] {
    const bytes = joinChunks(this.#held);
    this.#held = [bytes];
    const isWebp = hasText(bytes, "RIFF") && hasText(bytes, "WEBP", 8);
    // An image that arrives at once has no other bounds.
    const result = this.#readFormat(isWebp ? bytes : bytes.subarray(0, MAX_HEAD_BYTES), isWebp);
    this.isKnownFormat = "needs" in result || result.mark !== "format";
    if (!("needs" in result)) {
      if (result.changes !== undefined && bytes[0] === PNG_SIGNATURE[0]) this.#openTail(bytes);
      return this.#pass(result.mark, result.changes ? applyChanges(bytes, result.changes) : [bytes]);
    }
    const grown = this.#heldBytes <= SMALL_HEAD_BYTES ? 0 : Math.ceil(1.25 * this.#heldBytes);
    this.#needs = Math.max(result.needs, grown);
    if (result.needs > (isWebp ? MAX_WEBP_BYTES : MAX_HEAD_BYTES)) return this.#pass("too_large", [bytes]);
    return [];
  }

  #openTail(head: Uint8Array): void {
    this.#tail = new PngTail();
    this.#tail.push(head.subarray(PNG_SIGNATURE.length));
  }

  #readFormat(bytes: Uint8Array, isWebp: boolean): HeadResult {
    if (isWebp) return readWebp(bytes, this.#mark);
    if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return readJpeg(bytes, this.#mark);
    const isPng = PNG_SIGNATURE.every((byte, index) => bytes[index] === byte);
    return isPng ? readPng(bytes, this.#mark) : { mark: "format" };
  }

  #pass(result: ImageMark, pieces: readonly Uint8Array[]): readonly Uint8Array[] {
    this.cancel();
    this.#result = result;
    return pieces;
  }
}

/** Marks a whole image. */
export function markImage(
  image: Uint8Array<ArrayBuffer>,
  mark: Mark,
): { readonly image: Uint8Array<ArrayBuffer>; readonly result: ImageMark } {
  const marker = new ImageMarker(mark, undefined);
  const pieces = [...marker.push(image), ...marker.end()];
  return { image: joinChunks(pieces), result: marker.result ?? "broken" };
}
