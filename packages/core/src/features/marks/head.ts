import type { ImageMark } from "../../types.js";

/** What the beginning of an image says, as far as it has arrived. */
export type HeadResult =
  /** It takes this many bytes in all to read on. */
  | { readonly needs: number }
  /** The image is passed on as it is. */
  | { readonly mark: ImageMark; readonly changes?: undefined }
  /** The image is marked by these changes, in order. */
  | { readonly mark: "marked"; readonly changes: readonly HeadChange[] };

/** A change of the beginning of an image. */
export interface HeadChange {
  /** The index of the first byte that is replaced. */
  readonly at: number;
  /** The number of bytes that are replaced. */
  readonly removed: number;
  readonly inserted: Uint8Array;
}

/** Returns the bytes with the changes. */
export function applyChanges(bytes: Uint8Array, changes: readonly HeadChange[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let from = 0;
  for (const { at, removed, inserted } of changes) {
    pieces.push(bytes.subarray(from, at), inserted);
    from = at + removed;
  }
  pieces.push(bytes.subarray(from));
  return pieces.filter(({ length }) => length > 0);
}

/** The most segments or chunks before the pixels of an image. Real images have a few hundred, of large colour profiles. */
export const MAX_PARTS = 4_096;

/** Whether bytes begin with the characters, at an offset. */
export function hasText(bytes: Uint8Array, text: string, at = 0): boolean {
  if (bytes.length < at + text.length) return false;
  for (let index = 0; index < text.length; index++) {
    if (bytes[at + index] !== text.charCodeAt(index)) return false;
  }
  return true;
}

/** Whether bytes contain the characters. */
export function containsText(bytes: Uint8Array, text: string): boolean {
  const first = text.charCodeAt(0);
  for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (hasText(bytes, text, at)) return true;
  }
  return false;
}

export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
