import type { StreamShape } from "../families/response-shape.js";
import { pickMembers } from "../families/shared.js";
import type { JsonObject } from "../util/json.js";
import { EventLines } from "./event-lines.js";
import { hasImage, ImageObject, type ImageObjectEnd } from "./image-object.js";
import type { ImagePart } from "./image-parts.js";
import { JsonScanner } from "./json-scanner.js";

/** Reads the events that have images. */
export class StreamImages {
  readonly #lines: EventLines;
  #parts: ImagePart[] = [];
  /** The event that is being read, from the first byte of its data on. */
  #current: EventObject | undefined;
  /** The number of images that have ended. */
  images = 0;

  constructor(shape: StreamShape) {
    this.#lines = new EventLines({
      onData: (bytes) => {
        this.#current ??= new EventObject(shape, (part) => void this.#parts.push(part));
        this.#current.push(bytes);
      },
      onEvent: (name) => this.#endEvent(name),
    });
  }

  /**
   * Returns the parts of images in a chunk. They may share the memory of the chunk.
   *
   * @throws TypeError if an image has begun, and the rest of its event is not JSON
   */
  push(chunk: Uint8Array): readonly ImagePart[] {
    this.#lines.push(chunk);
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  #endEvent(name: string | undefined): void {
    if (this.#current === undefined) return;
    const part = this.#current.end(name ?? "", this.images);
    this.#current = undefined;
    if (part === undefined) return;
    this.images++;
    this.#parts.push(part);
  }
}

/** Reads the data of one event. */
export class EventObject {
  readonly #shape: StreamShape;
  readonly #onPart: (part: ImagePart) => void;
  readonly #object = new ImageObject();
  readonly #scanner: JsonScanner;
  /** The whole data, if it is short or has ended. */
  #end: ImageObjectEnd | undefined;

  constructor(shape: StreamShape, onPart: (part: ImagePart) => void) {
    this.#shape = shape;
    this.#onPart = onPart;
    const endObject = (text: Uint8Array): void => {
      this.#end = this.#object.end(text);
    };
    this.#scanner = new JsonScanner({
      onValue: endObject,
      onPartsEnd: endObject,
      onLongString: () => this.#object.addLongString(this.#scanner, (before) => this.#begin(before)),
      onStringPart: (bytes) => onPart({ kind: "base64", bytes }),
    });
  }

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  /**
   * Returns the last part of the image of the event, if it has one.
   *
   * @param name the name of the event, used if its data has no `type`
   * @param index the index of the image
   */
  end(name: string, index: number): ImagePart | undefined {
    const { members, later } = (this.#scanner.status() === "complete" && this.#end) || NOTHING;
    if (this.#object.hasBegun) {
      if (members === undefined) throw new TypeError("The event of an image is not JSON.");
      return { kind: "end", members: this.#pick(members), later: this.#pick(later), index };
    }
    if (!hasImage(members) || !isImageType(typeOf(members) ?? name, this.#shape)) return undefined;
    return { kind: "image", image: this.#pick(members), index, createdAt: this.#readCreated(members) };
  }

  #begin(before: JsonObject): boolean {
    if (!isImageType(typeOf(before), this.#shape)) return false;
    this.#onPart({ kind: "begin", members: this.#pick(before), createdAt: this.#readCreated(before) });
    return true;
  }

  #readCreated(members: JsonObject): number | undefined {
    const created = members[this.#shape.created];
    return Number.isSafeInteger(created) ? Number(created) : undefined;
  }

  #pick(members: JsonObject): JsonObject {
    return pickMembers(members, this.#shape.leftOut);
  }
}

const NOTHING = { members: undefined, later: {} };

/** Before its type is known, an event with base64 counts as one with an image. */
function isImageType(type: string | undefined, { imageEvents }: StreamShape): boolean {
  return type === undefined || imageEvents.includes(type);
}

function typeOf({ type }: JsonObject): string | undefined {
  return typeof type === "string" ? type : undefined;
}
