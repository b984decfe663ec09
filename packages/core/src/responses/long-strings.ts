import { MAX_OUTLINE_BYTES } from "../util/response-bounds.js";
import { encodeText } from "../util/utf8.js";
import { findPathOfEnd } from "./image-object.js";
import type { EarlyImage, EarlyImages } from "./image-stage.js";
import { JsonScanner } from "./json-scanner.js";

/** The bytes of a longer string that stay in the text. In base64 they tell the size of nearly every JPEG. */
const MAX_STRING_BYTES = 128 * 1024;

/** A long string of a document. */
export type LongString =
  /** Its bytes as they are written, with quotes. */
  | { readonly bytes: readonly Uint8Array[] }
  /** It was handed over while it arrived. */
  | { readonly image: EarlyImage };

/**
 * Takes the long strings out of JSON that arrives in chunks, so that base64 of many megabytes is never a string in memory. The
 * bytes of long strings stay in the chunks in which they arrived, or are handed over.
 *
 * A response of Gemini with an image of 30 MB makes the process grow by 53 MiB in place of 302. The simple version parses the
 * whole response, as for families without `cutsBase64`.
 */
export class LongStrings {
  /** Random, so that a provider cannot write it. */
  readonly #mark = crypto.randomUUID().replaceAll("-", "");
  readonly #early: EarlyImages | undefined;
  readonly #path: string | undefined;
  readonly #strings: LongString[] = [];
  readonly #scanner: JsonScanner;
  /** The bytes of the last long string, if it is held. */
  #held: Uint8Array[] = [];
  /** The last long string, if it is handed over. */
  #image: EarlyImage | undefined;
  /** The JSON with long strings cut short, and a mark at the end of each. Empty before the end of the document. */
  text: Uint8Array = new Uint8Array();

  /**
   * @param early takes long strings while they arrive. A string that it does not take is held. Default: all are held.
   * @param path where such strings are: the names of members from the top, and `*` for the items of a list
   */
  constructor(early?: EarlyImages, path?: readonly string[]) {
    this.#early = early;
    this.#path = path?.join("/");
    this.#scanner = new JsonScanner(
      {
        onValue: (bytes) => {
          this.text = new Uint8Array(bytes);
        },
        onPartsEnd: (text) => {
          this.text = text;
        },
        onLongString: () => this.#begin(),
        onStringPart: (bytes) => {
          if (this.#image === undefined) this.#held.push(bytes);
          else this.#image.push(bytes);
        },
      },
      { maxHeldBytes: MAX_STRING_BYTES, maxStringBytes: MAX_STRING_BYTES, maxTextBytes: MAX_OUTLINE_BYTES },
    );
  }

  push(chunk: Uint8Array): void {
    this.#scanner.push(chunk);
    // Also if something follows the document.
    if (this.#scanner.status() === "broken") this.text = new Uint8Array();
    if (this.#scanner.isTextCut) this.#scanner.giveUp("excessive");
  }

  /** True if the document is beyond the bounds of a response. Nothing more must be pushed then. */
  get isExcessive(): boolean {
    return this.#scanner.status() === "excessive";
  }

  /**
   * Returns the long string behind a string of the text. `undefined` if the string is not a long one.
   *
   * @throws TypeError if the end of a long string was changed
   */
  find(string: string): LongString | undefined {
    const at = string.lastIndexOf(this.#mark);
    if (at === -1) return undefined;
    const found = this.#strings[Number(string.slice(at + this.#mark.length))];
    if (found === undefined) throw new TypeError("A family changed base64 that was cut.");
    return found;
  }

  #begin(): true {
    this.#image = this.#isAtPath() ? this.#early?.begin() : undefined;
    this.#held = [];
    this.#scanner.mark(encodeText(`${this.#mark}${this.#strings.length}`));
    this.#strings.push(this.#image === undefined ? { bytes: this.#held } : { image: this.#image });
    return true;
  }

  #isAtPath(): boolean {
    return this.#path !== undefined && findPathOfEnd(this.#scanner.readValue()).join("/") === this.#path;
  }
}
