import { Buffer } from "node:buffer";
import { GatewayError, invalidRequest } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import { createDataUrlImage, LONG_DATA_URL } from "../images/data-url.js";
import type { UploadedImage } from "../images/reference-image.js";
import {
  checkJsonValue,
  isExactNumber,
  isJsonObject,
  type JsonLimits,
  type JsonObject,
  parseExactJson,
  tooDeep,
  tooManyFields,
  tooManyValues,
} from "../util/json.js";
import { type JsonPart, JsonWalker, type JsonWalkHandler } from "../util/json-walker.js";
import { toBuffer } from "../util/to-buffer.js";
import { type BodyGuard, bodyAlreadyRead, readBody } from "./body.js";

/** The limits of a JSON body, far above what any request needs. */
const BODY_LIMITS: JsonLimits = { maxDepth: 32, maxValues: 10_000, maxFields: 256 };

/**
 * Reads the JSON object in a request's body: strict UTF-8, at most `maxBytes`, no duplicate key at the top level. A
 * body that the host has parsed is checked against the same limits, but its duplicate keys can no longer be detected.
 */
export function readJson(request: GatewayRequest, maxBytes: number, guard?: BodyGuard): Promise<JsonObject> {
  const { headers, parsedBody, bodyConsumed } = request;
  checkContentType(headers.get("content-type"));
  if (parsedBody !== undefined) return Promise.resolve(readParsed(parsedBody));
  if (bodyConsumed === true) throw bodyAlreadyRead();
  checkContentEncoding(headers.get("content-encoding"));
  return readBody(request, { maxBytes, guard, convert: parseBody });
}

function readParsed(parsedBody: unknown): JsonObject {
  if (typeof parsedBody === "string") return parseBody(new TextEncoder().encode(parsedBody));
  if (parsedBody instanceof Uint8Array) return parseBody(parsedBody);
  checkJsonValue(parsedBody, BODY_LIMITS);
  if (!isJsonObject(parsedBody)) throw invalidRequest("The body must be a JSON object.");
  return parsedBody;
}

function parseBody(bytes: Uint8Array): JsonObject {
  try {
    return parsePlain(bytes) ?? parseJsonObject(bytes, BODY_LIMITS);
  } catch (error) {
    throw error instanceof SyntaxError ? invalidRequest(error.message) : error;
  }
}

/** Most bodies without images are shorter. */
const MAX_PLAIN_BYTES = 4096;

/**
 * Parses a short body that is spelled as JavaScript spells its value. Then no key is given twice and no number is inexact, so no
 * scan is needed. `undefined`: the body has another spelling, or something is wrong with it.
 */
function parsePlain(bytes: Uint8Array): JsonObject | undefined {
  if (bytes.length > MAX_PLAIN_BYTES) return undefined;
  try {
    const json = decoder.decode(bytes);
    const value: unknown = JSON.parse(json);
    if (isJsonObject(value) && JSON.stringify(value) === json) return readParsed(value);
  } catch {
    // The scan says what is wrong.
  }
  return undefined;
}

/** True for the content type of JSON, in any charset. */
export function isJsonType(header: string | null): boolean {
  const [type = ""] = (header ?? "").split(";");
  return /^application\/(?:[\w.-]+\+)?json$/i.test(type.trim());
}

function checkContentType(header: string | null): void {
  // What nearly every client sends.
  if (header === "application/json") return;
  const [, ...parameters] = (header ?? "").toLowerCase().split(";");
  const charset = parameters
    .map((parameter) => /^\s*charset="?([^"\s]+)"?\s*$/.exec(parameter)?.[1])
    .find(Boolean);
  if (!isJsonType(header) || (charset !== undefined && charset !== "utf-8" && charset !== "utf8")) {
    throw new GatewayError(
      "unsupported_media_type",
      "This endpoint takes JSON in UTF-8: send the header Content-Type: application/json.",
    );
  }
}

/** @throws GatewayError `unsupported_media_type` for a compressed body */
export function checkContentEncoding(header: string | null): void {
  if (header !== null && header.trim() !== "" && header.trim().toLowerCase() !== "identity") {
    throw new GatewayError("unsupported_media_type", "Send the body without Content-Encoding.");
  }
}

/** The maximum length of a number. Longer numbers take too long to parse. */
const MAX_NUMBER_LENGTH = 1_000;

const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses a JSON object within limits. The bytes are checked in one pass before they are parsed. Long data URLs in
 * `image` and `image_url`, and in a list with such a name, become images over the given bytes, which must not change afterwards. Numbers
 * that JavaScript would write differently keep their spelling.
 *
 * @param minDataUrl data URLs of more bytes stay bytes
 * @throws GatewayError `invalid_request_error` for bytes that exceed the limits or are not UTF-8, and for a top-level
 *   key that is given twice
 * @throws SyntaxError for bytes that are not a JSON object; the message is for the client and does not quote the bytes
 */
export function parseJsonObject(
  bytes: Uint8Array,
  limits: JsonLimits,
  minDataUrl = LONG_DATA_URL,
): JsonObject {
  const buffer = toBuffer(bytes);
  const scan = new BodyScan(buffer, limits, minDataUrl);
  const walker = new JsonWalker(scan, NO_LIMITS);
  walker.push(buffer);
  const json = decodeUtf8(scan.readOutline());
  const value = walker.status() === "complete" ? parseOutline(json, scan) : undefined;
  if (value === undefined) throw new SyntaxError(describeInvalid(json));
  // Checked after parsing, because only a JSON document has keys.
  if (scan.duplicate !== undefined) {
    const name = scan.duplicate.slice(0, 64);
    throw invalidRequest(`The field ${name} is given twice.`, name);
  }
  return value;
}

/** {@link BodyScan} checks the limits, whose errors name them. */
const NO_LIMITS = { maxDepth: Infinity, maxValues: Infinity, maxBareBytes: Infinity };

/** One pass over bytes that may be a JSON object, and what it found. */
class BodyScan implements JsonWalkHandler {
  /** The images by their placeholders. `undefined` without an image. */
  images: Map<string, UploadedImage> | undefined;
  /** The first top-level key that is given twice. */
  duplicate: string | undefined;
  hasInexactNumbers = false;
  readonly #bytes: Buffer;
  readonly #limits: JsonLimits;
  readonly #minDataUrl: number;
  readonly #keys = new Set<string>();
  /** By depth: whether strings there are values of `image` or `image_url`. */
  readonly #isImageAt: boolean[] = [];
  /** The document up to `copied`, with placeholders. */
  readonly #pieces: Uint8Array[] = [];
  #copied = 0;
  #values = 0;
  /** What has begun and not ended, and where. */
  #part: JsonPart | undefined;
  #start = 0;

  constructor(bytes: Buffer, limits: JsonLimits, minDataUrl: number) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#minDataUrl = minDataUrl;
  }

  /** The document with a placeholder string for each image. */
  readOutline(): Uint8Array {
    if (this.images === undefined) return this.#bytes;
    return Buffer.concat([...this.#pieces, this.#bytes.subarray(this.#copied)]);
  }

  onBegin(part: JsonPart, depth: number, index: number): void {
    this.#part = part;
    this.#start = index;
    if (part === "key") return;
    this.#values++;
    if (this.#values > this.#limits.maxValues) throw tooManyValues(this.#limits);
    if (part !== "object" && part !== "array") return;
    if (depth >= this.#limits.maxDepth) throw tooDeep(this.#limits);
    this.#isImageAt[depth + 1] = part === "array" && this.#isImageAt[depth] === true;
  }

  onEnd(_chunk: Uint8Array, depth: number, end: number): void {
    if (this.#part === "key") this.#readKey(depth, end);
    else if (this.#part === "scalar") this.#readScalar(end);
    else if (this.#part === "string" && this.#isImageAt[depth] === true) this.#readImage(end);
    // The next end may be that of an object or a list.
    this.#part = undefined;
  }

  #readKey(depth: number, end: number): void {
    const { maxFields = Infinity } = this.#limits;
    const key = parseKey(this.#bytes.toString("utf8", this.#start, end));
    this.#isImageAt[depth] = key === "image" || key === "image_url";
    if (depth !== 1) return;
    if (this.#keys.has(key)) this.duplicate ??= key;
    this.#keys.add(key);
    if (this.#keys.size > maxFields) throw tooManyFields(this.#limits);
  }

  #readScalar(end: number): void {
    const literal = this.#bytes.toString("latin1", this.#start, end);
    if (!/^[-\d]/.test(literal)) return;
    if (literal.length > MAX_NUMBER_LENGTH) {
      throw invalidRequest(`The body holds a number of more than ${MAX_NUMBER_LENGTH} characters.`);
    }
    this.hasInexactNumbers ||= !isExactNumber(literal);
  }

  #readImage(end: number): void {
    const length = end - this.#start - 2;
    if (length <= this.#minDataUrl) return;
    const image = createDataUrlImage(
      new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + this.#start + 1, length),
    );
    if (image === undefined) return;
    // A client cannot know this value, so it cannot send a string that would be taken for an image.
    const placeholder = crypto.randomUUID();
    this.images ??= new Map();
    this.images.set(placeholder, image);
    this.#pieces.push(this.#bytes.subarray(this.#copied, this.#start + 1), Buffer.from(placeholder));
    this.#copied = end - 1;
  }
}

/** Parses a key: the same key may be written with and without escapes. */
function parseKey(json: string): string {
  if (!json.includes("\\")) return json.slice(1, -1);
  try {
    return String(JSON.parse(json));
  } catch {
    // Not JSON. The parser reports that.
    return json;
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw invalidRequest("The body is not valid UTF-8.");
  }
}

/** Finds misspelled numbers, literals and escapes, which the walker does not: then the result is `undefined`. */
function parseOutline(json: string, { images, hasInexactNumbers }: BodyScan): JsonObject | undefined {
  const hasPlainValues = images === undefined && !hasInexactNumbers;
  try {
    const value: unknown = hasPlainValues
      ? JSON.parse(json)
      : parseExactJson(json, (string) => images?.get(string) ?? string);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The walker accepts nothing but an object.
    return value as JsonObject;
  } catch {
    // The runtime's message quotes the body.
    return undefined;
  }
}

function describeInvalid(json: string): string {
  const start = json.trimStart();
  if (start === "") return "The body is empty; send a JSON object.";
  return /^["[\d-]|^(?:null|true|false)/.test(start)
    ? "The body must be a JSON object."
    : "The body is not valid JSON.";
}
