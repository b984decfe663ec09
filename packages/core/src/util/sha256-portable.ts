import { sha256 as hash } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** SHA-256 of a text's UTF-8, in hexadecimal. For runtimes without a synchronous one of their own. */
export function sha256(text: string): string {
  return bytesToHex(hash(utf8ToBytes(text)));
}
