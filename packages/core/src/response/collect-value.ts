import { createHeldBytes } from "../util/held-bytes.js";

/** Who is told of values, each either whole or in parts. Bytes may be those of a chunk: not to be kept. */
export interface ValueReceiver {
  /** A value that ended within the bound, as it is written. */
  onValue(bytes: Uint8Array): void;
  /** The next part of a larger value, from its first byte on. */
  onPart(bytes: Uint8Array): void;
  /** The end of a value that came in parts. */
  onPartsEnd(): void;
}

/** Puts values together that are cut between chunks. */
export interface ValueCollector {
  /** Bytes of the present value, more of which follow. */
  add(part: Uint8Array): void;
  /** The last bytes of the present value. */
  end(part: Uint8Array): void;
}

/** Holds a value until its end, up to `maxBytes`; what is larger is handed on as it comes. */
export function createValueCollector(receiver: ValueReceiver, maxBytes: number): ValueCollector {
  const held = createHeldBytes();
  let isInParts = false;

  const handOn = (part: Uint8Array): void => {
    if (!isInParts && held.length > 0) receiver.onPart(held.take());
    isInParts = true;
    if (part.length > 0) receiver.onPart(part);
  };
  const isTooLarge = (part: Uint8Array): boolean => isInParts || held.length + part.length > maxBytes;

  return {
    add(part) {
      if (isTooLarge(part)) handOn(part);
      else held.add(part);
    },
    end(part) {
      if (isTooLarge(part)) {
        handOn(part);
        isInParts = false;
        return receiver.onPartsEnd();
      }
      if (held.length === 0) return receiver.onValue(part);
      held.add(part);
      receiver.onValue(held.take());
    },
  };
}
