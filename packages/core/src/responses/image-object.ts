import { isJsonObject, type JsonObject, parseJson } from "../util/json.js";
import { createJsonScanner, type JsonScanner } from "./json-scanner.js";
import { createJsonShortener, type JsonShortener } from "./shorten-json.js";

/** The handler of an {@link ImageObject}. */
export interface ImageObjectHandler {
  /**
   * Long base64 begins. Not called for base64 of up to 16 KiB, which is a member like others.
   *
   * @param members the members before it
   * @returns whether the base64 is wanted
   */
  onBase64(members: JsonObject): boolean;
  /** Bytes of the wanted base64: a JSON string in parts, with its quotes. They may belong to the chunk. */
  onBytes(bytes: Uint8Array): void;
  /** A member after wanted base64. */
  onMember(key: string, value: unknown): void;
}

const BASE64 = "b64_json";
/** The number of characters of long base64 that stay in the members. Enough to detect the format of the image. */
export const KEPT_BASE64 = 64;
/** No member is read item by item. */
const NO_ITEMS = "\0";
const decoder = new TextDecoder();

/**
 * Reads one JSON object that may have an image in base64, such as an item of `data` or the data of an event. The base64 is
 * handed over in the parts in which it arrives. Other members of more than 16 KiB are left out; they are only in
 * {@link ImageObject.shortened}.
 */
export class ImageObject {
  readonly #handler: ImageObjectHandler;
  readonly #scanner: JsonScanner;
  readonly #members: JsonObject = {};
  readonly #longMembers: JsonObject = {};
  /** Reads a member that is too long. */
  #long: JsonShortener | undefined;
  #key = "";
  /** True in a long value that is handed over. */
  #isPassing = false;
  /** True when wanted base64 has begun. */
  hasBegun = false;

  constructor(handler: ImageObjectHandler) {
    this.#handler = handler;
    this.#scanner = createJsonScanner(
      {
        onMember: (key) => {
          this.#key = key;
        },
        onValue: (bytes) => this.#readValue(bytes),
        onPart: (bytes) => this.#readPart(bytes),
        onPartsEnd: () => this.#endParts(),
        onItems: () => {},
        onItemsEnd: () => {},
      },
      { items: NO_ITEMS },
    );
  }

  push(bytes: Uint8Array): void {
    this.#scanner.push(bytes);
  }

  /** Returns the members when the object has ended; of long base64 only the beginning. `undefined` if it is not JSON. */
  end(): JsonObject | undefined {
    return this.#scanner.status() === "complete" ? this.#members : undefined;
  }

  /** The members so far, also those that are too long, with their long strings cut. They may say why there is no image. */
  get shortened(): JsonObject {
    return { ...this.#members, ...this.#longMembers };
  }

  #readValue(bytes: Uint8Array): void {
    const value = parseJson(decoder.decode(bytes));
    if (value === undefined) return this.#scanner.giveUp();
    define(this.#members, this.#key, value);
    if (this.hasBegun) this.#handler.onMember(this.#key, value);
  }

  #readPart(bytes: Uint8Array): void {
    if (this.#isPassing) return this.#handler.onBytes(bytes);
    if (this.#key !== BASE64 || this.hasBegun) {
      this.#long ??= createJsonShortener();
      return this.#long.push(bytes);
    }
    const isWanted = this.#handler.onBase64({ ...this.#members });
    // Without the opening quote. The end of the string is not needed.
    define(this.#members, BASE64, decoder.decode(bytes.subarray(1, 1 + KEPT_BASE64)));
    if (!isWanted) return;
    this.hasBegun = true;
    this.#isPassing = true;
    this.#handler.onBytes(bytes);
  }

  #endParts(): void {
    this.#isPassing = false;
    const value = this.#long && parseJson(this.#long.read());
    if (value !== undefined) define(this.#longMembers, this.#key, value);
    this.#long = undefined;
  }
}

/** Also for a key such as `__proto__`. */
function define(members: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(members, key, { value, enumerable: true, configurable: true });
}

/** True if an object has an image, as a link or as base64. */
export function hasImage(value: unknown): value is JsonObject {
  return isJsonObject(value) && (isFilled(value["url"]) || isFilled(value[BASE64]));
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
