import { isJsonObject, type JsonObject, omitMembers, parseJson } from "../util/json.js";
import type { JsonScanner } from "./json-scanner.js";

const BASE64 = "b64_json";
/** The number of characters of long base64 that stay in the members. Enough to detect the format of the image. */
export const KEPT_BASE64 = 64;
const decoder = new TextDecoder();

/** An object with long base64 that has ended. */
export interface ImageObjectEnd {
  /** All members; of long base64 only the beginning. Other members with long strings are left out. */
  readonly members: JsonObject;
  /** The members after the base64. */
  readonly later: JsonObject;
  /** All members, with long strings cut. They may say why there is no image. */
  readonly shortened: JsonObject;
}

/**
 * Reads one large object that may have an image in base64, such as an item of `data` or the data of an event. The base64 is
 * handed over in the parts in which it arrives.
 */
export class ImageObject {
  /** The members before the base64, when wanted base64 has begun. */
  #before: JsonObject | undefined;
  /** Other members with long strings. */
  readonly #cut: string[] = [];

  /** True when wanted base64 has begun. */
  get hasBegun(): boolean {
    return this.#before !== undefined;
  }

  /**
   * Call when a string of the object has become long. Returns true if it is wanted base64.
   *
   * @param begin called with the members before the base64, and with all members so far. Returns whether the base64 is wanted
   */
  addLongString(scanner: JsonScanner, begin: (before: JsonObject, all: JsonObject) => boolean): boolean {
    const value = scanner.readValue();
    if (!isJsonObject(value)) return false;
    const [name = "", ...inner] = findPathOfEnd(value);
    if (name === BASE64 && inner.length === 0 && this.#before === undefined) {
      const before = omitMembers(value, [BASE64, ...this.#cut]);
      if (!begin(before, value)) return false;
      this.#before = before;
      return true;
    }
    if (name !== BASE64) this.#cut.push(name);
    return false;
  }

  /** @returns `undefined` if the object is not JSON */
  end(text: Uint8Array): ImageObjectEnd | undefined {
    const shortened = parseJson(decoder.decode(text));
    if (!isJsonObject(shortened)) return undefined;
    const members = omitMembers(shortened, this.#cut);
    if (this.#before === undefined) return { members, later: {}, shortened };
    const base64 = String(members[BASE64]).slice(0, KEPT_BASE64);
    const later = omitMembers(members, [BASE64, ...Object.keys(this.#before)]);
    return { members: { ...members, [BASE64]: base64 }, later, shortened };
  }
}

/** The names of the last member of a value, of the last member of that member, and so on; `*` for the item of a list. */
export function findPathOfEnd(value: unknown): readonly string[] {
  if (Array.isArray(value)) return ["*", ...findPathOfEnd(value.at(-1))];
  if (!isJsonObject(value)) return [];
  const name = Object.keys(value).at(-1);
  return name === undefined ? [] : [name, ...findPathOfEnd(value[name])];
}

/** True if an object has an image, as a link or as base64. */
export function hasImage(value: unknown): value is JsonObject {
  return isJsonObject(value) && (isFilled(value["url"]) || isFilled(value[BASE64]));
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
