import { type GatewayError, invalidRequest } from "../errors.js";
import { isJsonObject } from "../util/json.js";
import { isExactly, parseKeepingNumbers } from "./source-numbers.js";

/** The limits of a JSON text. */
export interface JsonLimits {
  readonly maxDepth: number;
  /**
   * The maximum number of values: objects, lists, and the values in them. A megabyte of `{},` would take many
   * megabytes after parsing.
   */
  readonly maxValues: number;
  /** The maximum number of fields at the top level, which many steps iterate over. Default: no limit. */
  readonly maxFields?: number | undefined;
}

/** Far more than any request needs. */
export const BODY_LIMITS = { maxDepth: 32, maxValues: 10_000, maxFields: 256 } satisfies JsonLimits;

/** The maximum length of a number. Longer numbers take too long to parse. */
const MAX_NUMBER_LENGTH = 1_000;

/**
 * Parses JSON within limits. The text is checked in one pass before it is parsed. Numbers that a JavaScript number
 * cannot represent as they are written keep their text, see `source-numbers.ts`.
 *
 * @throws GatewayError `invalid_request_error` for a text that exceeds the limits, and for a top-level key that is
 *   given twice
 * @throws SyntaxError for a text that is not JSON
 */
export function parseJson(text: string, limits: JsonLimits): unknown {
  const { duplicate, hasInexactNumbers } = scanJson(text, limits);
  const value: unknown = hasInexactNumbers ? parseKeepingNumbers(text) : JSON.parse(text);
  // Checked after parsing, because a text that is not JSON has no keys.
  if (duplicate !== undefined) {
    const name = duplicate.slice(0, 64);
    throw invalidRequest(`The field ${name} is given twice.`, name);
  }
  return value;
}

/**
 * Checks a body that the host has parsed against the same limits. Duplicate keys can no longer be detected here.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function checkJsonValue(value: unknown, limits: JsonLimits): void {
  const { maxFields = Infinity } = limits;
  if (isJsonObject(value) && Object.keys(value).length > maxFields) throw tooManyFields(maxFields);
  visit(value, 0, { values: 0, limits });
}

interface Visited {
  values: number;
  readonly limits: JsonLimits;
}

function visit(value: unknown, depth: number, visited: Visited): void {
  const { limits } = visited;
  visited.values++;
  if (visited.values > limits.maxValues) throw tooManyValues(limits);
  if (typeof value !== "object" || value === null) return;
  if (depth >= limits.maxDepth) throw tooDeep(limits);
  if (!isJsonObject(value)) {
    for (const item of Object.values(value)) visit(item, depth + 1, visited);
    return;
  }
  // Read by name, because `Object.values` would create a list for each object.
  for (const name in value) if (Object.hasOwn(value, name)) visit(value[name], depth + 1, visited);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

interface ScannedJson {
  /** The first top-level key that is given twice. */
  readonly duplicate: string | undefined;
  /** True if the text has a number that JavaScript may write differently. */
  readonly hasInexactNumbers: boolean;
}

/** One pass over a text that may be JSON. */
function scanJson(text: string, limits: JsonLimits): ScannedJson {
  let values = 0;
  let depth = 0;
  let keyStart = 0;
  let keyEnd = 0;
  let duplicate: string | undefined;
  let hasInexactNumbers = false;
  const { maxFields = Infinity } = limits;
  const keys = new Set<string>();
  const countValue = (): void => {
    values++;
    if (values > limits.maxValues) throw tooManyValues(limits);
  };
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    switch (code) {
      case QUOTE:
        keyStart = at;
        at = findStringEnd(text, at);
        keyEnd = at + 1;
        break;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        countValue();
        depth++;
        if (depth > limits.maxDepth) throw tooDeep(limits);
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COMMA:
        countValue();
        break;
      case COLON: {
        if (depth !== 1) break;
        const key = readKey(text.slice(keyStart, keyEnd));
        if (keys.has(key)) duplicate ??= key;
        keys.add(key);
        if (keys.size > maxFields) throw tooManyFields(maxFields);
        break;
      }
      default: {
        if (code !== MINUS && !isDigit(code)) break;
        const end = findNumberEnd(text, at);
        hasInexactNumbers ||= !isExactly(text.slice(at, end));
        at = end - 1;
      }
    }
  }
  return { duplicate, hasInexactNumbers };
}

/** Returns the index of the quote that ends the string which begins at `start`, or the length of the text. */
function findStringEnd(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote;
  // If the string has escapes, it is read character by character: a search for quotes is slow if most quotes are
  // escaped.
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return text.length;
}

/** Returns the index after characters that may be a number. */
function findNumberEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isNumberPart(text.charCodeAt(end))) end++;
  if (end - start > MAX_NUMBER_LENGTH) {
    throw invalidRequest(`The body holds a number of more than ${MAX_NUMBER_LENGTH} characters.`);
  }
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Digits and the characters of `-1.5e+3`. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 0x2e || code === 0x2b || code === MINUS || code === 0x65 || code === 0x45;
}

/** Decodes a key: the same key may be written with and without escapes. */
function readKey(literal: string): string {
  if (!literal.includes("\\")) return literal.slice(1, -1);
  try {
    return String(JSON.parse(literal));
  } catch {
    // Not JSON. The parser reports that.
    return literal;
  }
}

function tooManyValues({ maxValues }: JsonLimits): GatewayError {
  return invalidRequest(`The body holds more than ${maxValues} values.`);
}

function tooManyFields(maxFields: number): GatewayError {
  return invalidRequest(`The body holds more than ${maxFields} fields at its top level.`);
}

function tooDeep({ maxDepth }: JsonLimits): GatewayError {
  return invalidRequest(`The body is nested deeper than ${maxDepth} levels.`);
}
