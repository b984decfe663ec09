import { Buffer } from "node:buffer";
import { GatewayError, invalidRequest } from "../../errors.js";
import type { GatewayResponse, GatewayResponseBody, HeaderReader } from "../../http.js";
import { LONG_DATA_URL } from "../../images/data-url.js";
import { lendChunks } from "../../images/lend-chunks.js";
import { stringifyUploads, type UploadedImage } from "../../images/reference-image.js";
import type { JsonObject } from "../../util/json.js";
import { sha256 } from "../../util/sha256.js";
import { encodeText, toBytes } from "../../util/utf8.js";
import type { IdempotencyRequest, StoredResponse } from "./store.js";

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * Reads the header `Idempotency-Key`: a bare key, or a key in quotes as in draft-ietf-httpapi-idempotency-key-header.
 * Returns `undefined` if there is none.
 *
 * @throws GatewayError for a key that is empty, too long, or sent twice
 */
export function readIdempotencyKey(headers: HeaderReader): string | undefined {
  const header = headers.get("idempotency-key");
  if (header === null) return undefined;
  const value = header.trim();
  const quoted = QUOTED.exec(value)?.[1];
  const key = quoted === undefined ? value : quoted.replaceAll(/\\(["\\])/g, "$1");
  const isHalfQuoted = quoted === undefined && value.startsWith('"');
  if (VISIBLE_ASCII.test(key) && !isHalfQuoted) return key;
  throw invalidRequest(
    "The header Idempotency-Key must be one key of 1 to 255 visible ASCII characters, such as a UUID.",
  );
}

/** What identifies a client's request: its key, and the fields that a repeated request has again. */
export interface IdentifiedRequest {
  readonly callerId: string;
  readonly path: string;
  /** See {@link readIdempotencyKey}. */
  readonly key: string;
  readonly fields: JsonObject;
  readonly leaseMs: number;
}

/** Creates the store's request for an idempotency key. The same key of another caller or path is another key. */
export async function createIdempotencyRequest({
  callerId,
  path,
  key,
  fields,
  leaseMs,
}: IdentifiedRequest): Promise<IdempotencyRequest> {
  return {
    // A hash, so that the key is short. JSON keeps the three parts apart.
    key: sha256(JSON.stringify([callerId, path, key])),
    fingerprint: await toFingerprint(fields),
    leaseMs,
  };
}

/**
 * Returns the same fingerprint for the same fields, and for forms with the same files however their chunks arrived.
 * Web Crypto hashes megabytes outside of the event loop, and only one copy of each long string exists at a time.
 */
export async function toFingerprint(fields: JsonObject): Promise<string> {
  // Long strings are hashed apart, because hashing is faster than writing them as JSON.
  const longStrings: (string | Uint8Array)[] = [];
  const uploads: UploadedImage[] = [];
  // A data URL gets the same hash as a string and as bytes.
  const write = (image: UploadedImage): unknown => image.dataUrl ?? { upload: uploads.push(image) };
  // The letter before each string distinguishes the hash of a long string from a short string that is a number.
  const outline = stringifyUploads(fields, write, (_, value: unknown) => {
    if (value instanceof Uint8Array) return `l${longStrings.push(value)}`;
    if (typeof value !== "string") return value;
    return isLong(value) ? `l${longStrings.push(value)}` : `s${value}`;
  });
  const hashes = [];
  for (const value of longStrings) hashes.push(await hash(value));
  for (const image of uploads) hashes.push(await hashUpload(image));
  return hash([outline, ...hashes].join("\n"));
}

/** In UTF-8, which is hashed, all lone surrogates are equal. In JSON they are not. */
function isLong(value: string): boolean {
  return value.length > LONG_DATA_URL && value.isWellFormed();
}

const BLOCK_BYTES = 1024 * 1024;

/**
 * Web Crypto cannot hash a stream, so the file is hashed in blocks of one size. Its own chunks are not the same each
 * time.
 */
async function hashUpload(image: UploadedImage): Promise<string> {
  const hashes: string[] = [];
  const block = new Uint8Array(Math.min(BLOCK_BYTES, image.byteLength));
  let used = 0;
  for await (const chunk of lendChunks(image)) {
    for (let rest = chunk; rest.length > 0; ) {
      const fitting = rest.subarray(0, block.length - used);
      block.set(fitting, used);
      used += fitting.length;
      rest = rest.subarray(fitting.length);
      if (used < block.length) continue;
      hashes.push(await hashBytes(block));
      used = 0;
    }
  }
  hashes.push(await hashBytes(block.subarray(0, used)));
  return hash(hashes.join("\n"));
}

function hash(value: string | Uint8Array): Promise<string> {
  return hashBytes(toBytes(value));
}

async function hashBytes(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}

/** The error of another request with the same key. */
export function conflictError(): GatewayError {
  return new GatewayError(
    "idempotency_conflict",
    "Another request was sent with this Idempotency-Key: send a new key, or the same request as before.",
    { shouldRetry: false },
  );
}

const ORIGINAL_ID = "x-calotype-original-request-id";

/** Headers that belong to one response only. */
const NOT_STORED = /^(?:x-request-id|retry-after(?:-ms)?|(?:x-)?ratelimit.*|content-length|set-cookie|date)$/;

/**
 * Converts a response into one that can be sent again. Returns `undefined` for a stream, for a body that is not JSON,
 * and for a body of more than `maxBytes`.
 */
export function toStoredResponse(response: GatewayResponse, maxBytes: number): StoredResponse | undefined {
  const { status, headers } = response;
  if (!headers["content-type"]?.startsWith("application/json")) return undefined;
  const body = toBodyString(response.body, maxBytes);
  if (body === undefined) return undefined;
  const stored = Object.entries(headers).filter(([name]) => !NOT_STORED.test(name));
  const id = headers["x-request-id"];
  return {
    status,
    headers: { ...Object.fromEntries(stored), ...(id !== undefined && { [ORIGINAL_ID]: id }) },
    body,
  };
}

/** Returns the response to a repeated request. It has the repeated request's id, and names the first request's id. */
export function renderReplay({ status, headers, body }: StoredResponse, requestId: string): GatewayResponse {
  return {
    status,
    headers: { ...headers, "x-request-id": requestId, "idempotent-replayed": "true" },
    body,
  };
}

function toBodyString(body: GatewayResponseBody, maxBytes: number): string | undefined {
  if (typeof body === "string") {
    // Each character has at least one byte, so a body of megabytes need not be encoded.
    const isSmall = body.length <= maxBytes && encodeText(body).length <= maxBytes;
    return isSmall ? body : undefined;
  }
  if (!(body instanceof Uint8Array) || body.length > maxBytes) return undefined;
  return new TextDecoder().decode(body);
}
