import { type GatewayError, invalidRequest } from "../errors.js";

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
 * Checks what `JSON.parse` lets pass, in a text that it has accepted: nesting deeper than
 * `maxDepth` (it would overflow `JSON.stringify`), and a top-level key given twice (two readers of
 * one body must not see two requests).
 *
 * @throws GatewayError `invalid_request_error`
 */
export function checkJsonStructure(text: string, maxDepth: number): void {
  const keys = new Set<string>();
  let depth = 0;
  let keyFollows = false;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case QUOTE: {
        const end = endOfString(text, index);
        if (keyFollows) addKey(keys, text.slice(index, end + 1));
        keyFollows = false;
        index = end;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++;
        if (depth > maxDepth) throw tooDeep(maxDepth);
        keyFollows = depth === 1 && text.charCodeAt(index) === OPEN_BRACE;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COMMA:
        // In a top-level array this asks for keys that are none; such a body is refused anyway.
        keyFollows = depth === 1;
        break;
      case COLON:
        keyFollows = false;
        break;
    }
  }
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
  const key = literal.includes("\\") ? String(JSON.parse(literal)) : literal.slice(1, -1);
  if (keys.has(key)) throw invalidRequest(`The field ${key.slice(0, 64)} is given twice.`, key.slice(0, 64));
  keys.add(key);
}
