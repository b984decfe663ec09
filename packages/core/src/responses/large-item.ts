import { createHeldBytes } from "../util/held-bytes.js";
import { parseJson } from "../util/json.js";
import { createJsonShortener, parseUpToString } from "./shorten-json.js";

/** The kind of an item. `link`: an image that has a URL and no base64, and that must be converted. */
export type ItemKind = "image" | "link" | "failed";

/** The handler of a large item. */
export interface LargeItemHandler {
  /** Decides the kind of an item. Its long strings are shortened, and its end may be missing. */
  findKind(item: unknown): ItemKind;
  /** The item is an image. Called once, before its first bytes. */
  onImage(): void;
  /** Bytes of the image, which are passed on. */
  onBytes(bytes: Uint8Array): void;
  /** The image has ended. Its long strings are shortened; `undefined` if it cannot be read. */
  onImageEnd(item: unknown): void;
  /** The item has ended and is a link. */
  onLink(written: Uint8Array): void;
  /** The item has ended and is not an image. Its long strings are shortened. */
  onFailed(item: unknown): void;
  /** The item cannot be read: it is not JSON, or its image begins after the bytes that may be held. */
  onUnreadable(): void;
}

/** Reads one item of a response that is too large to be parsed, such as an image in base64 or a very long error. */
export interface LargeItem {
  push(bytes: Uint8Array): void;
  end(): void;
}

/** The bytes of an item that are held until it is known whether it is an image. */
const MAX_HELD_BYTES = 256 * 1024;

/** @param isPassed false if the bytes are not needed, so that none have to be held */
export function readLargeItem(handler: LargeItemHandler, isPassed: boolean): LargeItem {
  const held = createHeldBytes();
  let state: "undecided" | "image" | "dropped" = "undecided";

  const becomeImage = (): void => {
    state = "image";
    handler.onImage();
    if (held.length > 0) handler.onBytes(held.take());
  };

  // An item that is large because of its image has a long string. Its kind is decided when that string begins.
  const shortener = createJsonShortener({
    onLongString() {
      if (state !== "undecided") return;
      if (handler.findKind(parseUpToString(shortener.read())) === "image") becomeImage();
    },
  });

  const hold = (bytes: Uint8Array): void => {
    if (!isPassed) return;
    if (held.length + bytes.length <= MAX_HELD_BYTES) return held.add(bytes);
    held.take();
    state = "dropped";
  };

  return {
    push(bytes) {
      shortener.push(bytes);
      if (state === "undecided") hold(bytes);
      else if (state === "image") handler.onBytes(bytes);
    },
    end() {
      const item = parseJson(shortener.read());
      if (state === "image") return handler.onImageEnd(item);
      if (item === undefined) return handler.onUnreadable();
      const kind = handler.findKind(item);
      if (kind === "failed") return handler.onFailed(item);
      if (state === "dropped") return handler.onUnreadable();
      if (kind === "link") return handler.onLink(held.take());
      becomeImage();
      handler.onImageEnd(item);
    },
  };
}
