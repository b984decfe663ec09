import { type GatewayError, invalidRequest } from "../errors.js";

/** A JSON object as it came over the wire: keys are known, values are not. */
export type JsonObject = Record<string, unknown>;

/** Returns an object without some of its members. */
export function omitMembers(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

/** Returns the value of a text, or `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for what JSON writes in braces; arrays and `null` are not objects. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a value that is an object, and an empty object for any other. */
export function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The limits of a JSON document. */
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

/**
 * Checks a parsed value against limits.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function checkJsonValue(value: unknown, limits: JsonLimits): void {
  const { maxFields } = limits;
  if (maxFields !== undefined && isJsonObject(value) && Object.keys(value).length > maxFields) {
    throw tooManyFields(limits);
  }
  countValues(value, limits, 0, 0);
}

/** Returns the number of values up to the end of this one. */
function countValues(value: unknown, limits: JsonLimits, depth: number, before: number): number {
  let count = before + 1;
  if (count > limits.maxValues) throw tooManyValues(limits);
  if (typeof value !== "object" || value === null) return count;
  if (depth >= limits.maxDepth) throw tooDeep(limits);
  if (Array.isArray(value)) {
    for (const item of value) count = countValues(item, limits, depth + 1, count);
  } else if (isJsonObject(value)) {
    for (const name in value) {
      if (Object.hasOwn(value, name)) count = countValues(value[name], limits, depth + 1, count);
    }
  }
  return count;
}

/** The error of a document with too many values. */
export function tooManyValues({ maxValues }: JsonLimits): GatewayError {
  return invalidRequest(`The body holds more than ${maxValues} values.`);
}

/** The error of a document with too many fields. */
export function tooManyFields({ maxFields }: JsonLimits): GatewayError {
  return invalidRequest(`The body holds more than ${maxFields} fields at its top level.`);
}

/** The error of a document that is nested too deeply. */
export function tooDeep({ maxDepth }: JsonLimits): GatewayError {
  return invalidRequest(`The body is nested deeper than ${maxDepth} levels.`);
}

/*
 * Numbers that keep their spelling. `JSON.parse` changes 12345678901234567890, 1e400, 0.1000000000000000055, -0 and
 * 1.0; fields that are only forwarded must reach the provider as they were sent. Such a number is a raw JSON object
 * (`JSON.rawJSON`), which `JSON.stringify` writes as it was. Node 22, Bun 1.4, Deno and workerd have `JSON.rawJSON`. A
 * runtime without it changes these numbers.
 */
interface JsonWithSource {
  readonly rawJSON?: (json: string) => object;
  readonly isRawJSON?: (value: unknown) => boolean;
  parse(
    json: string,
    reviver: (key: string, value: unknown, context?: { readonly source?: string }) => unknown,
  ): unknown;
}

// The types of TypeScript's library do not have these functions yet.
const nativeJson: JsonWithSource = JSON;

/** Integers of up to 15 digits are always exact. Nearly all numbers match this. */
const PLAIN_INTEGER = /^-?[1-9]\d{0,14}$/;

/** True if JavaScript writes a number exactly as it is spelled here. */
export function isExactNumber(spelling: string): boolean {
  return spelling === "0" || PLAIN_INTEGER.test(spelling) || String(Number(spelling)) === spelling;
}

/**
 * `JSON.parse` that keeps the spelling of inexact numbers.
 *
 * @param replaceString returns the value for a string, usually the string itself
 */
export function parseExactJson(json: string, replaceString: (string: string) => unknown): unknown {
  return nativeJson.parse(json, (_key, value, context) => {
    if (typeof value === "string") return replaceString(value);
    const source = context?.source;
    if (typeof value !== "number" || source === undefined || String(value) === source) return value;
    return nativeJson.rawJSON?.(source) ?? value;
  });
}

/** Returns the number of a raw JSON object, and any other value unchanged. For fields that the gateway reads. */
export function toPlainNumber(value: unknown): unknown {
  return isRawNumber(value) ? Number(value.rawJSON) : value;
}

function isRawNumber(value: unknown): value is { readonly rawJSON: string } {
  return nativeJson.isRawJSON?.(value) === true;
}

/** Whether two objects have the same fields with the same values. */
export function haveSameFields<T extends object>(one: T, other: T): boolean {
  for (const name in one) if (one[name] !== other[name]) return false;
  for (const name in other) if (!(name in one)) return false;
  return true;
}
