import { type GatewayError, invalidRequest } from "../errors.js";
import { isJsonObject } from "../json.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Checks, before anything is built of a text, that it holds at most so many values: some megabytes
 * of `[` or of `{},` become gigabytes once parsed. The text need not be JSON.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function checkValueCount(text: string, maxValues: number): void {
  // Each value takes a sign at least.
  if (text.length <= maxValues) return;
  let values = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        index = endOfString(text, index);
        break;
      case COMMA:
      case OPEN_BRACE:
      case OPEN_BRACKET:
        values++;
        if (values > maxValues) throw tooManyValues(maxValues);
        break;
    }
  }
}

/** The error of a body that holds more values than are read. */
export function tooManyValues(maxValues: number): GatewayError {
  return invalidRequest(`The body holds more than ${maxValues} values.`);
}

/** The error of a body that is nested deeper than is read. */
export function tooDeep(maxDepth: number): GatewayError {
  return invalidRequest(`The body is nested deeper than ${maxDepth} levels.`);
}

/**
 * Checks what `JSON.parse` lets pass, in a text and the value that it made of it: nesting deeper than
 * `maxDepth` (it would overflow `JSON.stringify`), and a top-level key given twice (two readers of
 * one body must not see two requests).
 *
 * @throws GatewayError `invalid_request_error`
 */
export function checkJsonStructure(text: string, value: unknown, maxDepth: number): void {
  const count = isJsonObject(value) ? Object.keys(value).length : 0;
  // Of a key given twice the value holds one. With escapes it may hold others: V8 that has read
  // `{"b":1,"a\\":2}` takes `{"b":1,"a\"":2}` for the same (Node 24).
  if (!text.includes("\\") && countKeys(text, maxDepth) === count) return;
  const keys = new Set<string>();
  countKeys(text, maxDepth, (literal) => addKey(keys, literal));
}

/** How many keys stand at the top level of a text that is JSON. Each is told to `onKey` as it is written. */
function countKeys(text: string, maxDepth: number, onKey?: (literal: string) => void): number {
  let count = 0;
  let depth = 0;
  let stringStart = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
        stringStart = index;
        index = endOfString(text, index);
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        if (depth > maxDepth) throw tooDeep(maxDepth);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COLON:
        if (depth !== 1) break;
        count++;
        onKey?.(text.slice(stringStart, index));
        break;
    }
  }
  return count;
}

/** The index of the quote that ends the string which begins at `start`. Long strings are jumped over. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(index - 1 - backslashes) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

function addKey(keys: Set<string>, literal: string): void {
  const key = String(JSON.parse(literal));
  if (keys.has(key)) throw invalidRequest(`The field ${key.slice(0, 64)} is given twice.`, key.slice(0, 64));
  keys.add(key);
}
