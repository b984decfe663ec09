import { bytesToHex } from "@noble/hashes/utils.js";
import { sha256 } from "#sha256";
import { GatewayError, invalidRequest } from "../errors.js";
import type { HeaderReader } from "../http.js";
import { LONG_DATA_URL } from "../images/data-url.js";
import { lendChunks } from "../images/lend-chunks.js";
import { stringifyUploads, type UploadedImage } from "../images/reference-image.js";
import type { JsonObject } from "../util/json.js";
import type { IdempotencyRequest } from "./store.js";

const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;
const QUOTED = /^"((?:[^"\\]|\\["\\])*)"$/;

/**
 * The key by which a client names its request; bare, or in quotes as draft-ietf-httpapi-idempotency-key-header
 * has it. `undefined` where there is none.
 *
 * @throws GatewayError for one that is empty, too long, or sent twice
 */
export function readIdempotencyKey(headers: HeaderReader): string | undefined {
  const header = headers.get("idempotency-key");
  if (header === null) return undefined;
  const text = header.trim();
  const quoted = QUOTED.exec(text)?.[1];
  const key = quoted === undefined ? text : quoted.replaceAll(/\\(["\\])/g, "$1");
  const isHalfQuoted = quoted === undefined && text.startsWith('"');
  if (VISIBLE_ASCII.test(key) && !isHalfQuoted) return key;
  throw invalidRequest(
    "The header Idempotency-Key must be one key of 1 to 255 visible ASCII characters, such as a UUID.",
  );
}

/** What names a request of a client: its key, and the fields that a repeat has again. */
export interface ClaimedRequest {
  readonly callerId: string;
  readonly path: string;
  /** See {@link readIdempotencyKey}. */
  readonly key: string;
  readonly fields: JsonObject;
  readonly leaseMs: number;
}

/** The claim of a request on its key. Every caller and path has keys of its own. */
export async function createClaim(request: ClaimedRequest): Promise<IdempotencyRequest> {
  const { callerId, path, key, fields, leaseMs } = request;
  return { key: toClaimKey(callerId, path, key), fingerprint: await toFingerprint(fields), leaseMs };
}

/** A hash, so that it is short whatever a client sends; of JSON, which keeps the three apart. */
function toClaimKey(callerId: string, path: string, key: string): string {
  return sha256(JSON.stringify([callerId, path, key]));
}

/** An image takes 19 to 60 s, and clients come again twice of their own. */
const RUNNING_RETRY_SECONDS = 10;

/** Another request had this key. */
export function createConflictError(): GatewayError {
  const message =
    "Another request was sent with this Idempotency-Key: send a new key, or the same request as before.";
  return new GatewayError("idempotency_conflict", message, { shouldRetry: false });
}

/** The same request is running. */
export function createRunningError(): GatewayError {
  const message = `The request with this Idempotency-Key is still running: try again in ${RUNNING_RETRY_SECONDS} s.`;
  return new GatewayError("idempotency_in_progress", message, { retryAfterSeconds: RUNNING_RETRY_SECONDS });
}

/** The request ran, and its response was not stored. */
export function createNotReplayableError(): GatewayError {
  const message =
    "The request with this Idempotency-Key has run, and its response is not stored (a stream, or too large). " +
    "Its images were charged, or its outcome is unknown. Send a new key to run it again; it can be charged again.";
  return new GatewayError("idempotency_not_replayable", message, { shouldRetry: false });
}

/**
 * Texts longer than this, such as data URLs, are hashed apart: to write them as JSON takes longer than to hash them.
 * Data URLs that stay bytes are as long.
 */
const LONG = LONG_DATA_URL;

/**
 * The same for the same fields, and for forms with the same files however they came. They can be many megabytes:
 * Web Crypto hashes them beside the event loop, and of each long text there is one copy.
 */
export async function toFingerprint(fields: JsonObject): Promise<string> {
  const longTexts: (string | Uint8Array)[] = [];
  const uploads: UploadedImage[] = [];
  // A data URL gets the same hash as a string and as bytes.
  const write = (image: UploadedImage): unknown => image.dataUrl ?? { upload: uploads.push(image) };
  // The letter before each string distinguishes the hash of a long string from a short string that is a number.
  const outline = stringifyUploads(fields, write, (_, value: unknown) => {
    if (value instanceof Uint8Array) return `l${longTexts.push(value)}`;
    if (typeof value !== "string") return value;
    return isLong(value) ? `l${longTexts.push(value)}` : `s${value}`;
  });
  const hashes = [];
  for (const text of longTexts) hashes.push(await hash(text));
  for (const image of uploads) hashes.push(await hashUpload(image));
  return hash([outline, ...hashes].join("\n"));
}

/** UTF-8 cannot tell lone surrogates apart, JSON can. */
function isLong(text: string): boolean {
  return text.length > LONG && text.isWellFormed();
}

/** Web Crypto hashes what is there as a whole only. */
const BLOCK_BYTES = 1024 * 1024;

/** Of blocks of one size, since the chunks of the same file are not the same each time. */
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

function hash(text: string | Uint8Array): Promise<string> {
  return hashBytes(typeof text === "string" ? new TextEncoder().encode(text) : text);
}

async function hashBytes(bytes: Uint8Array): Promise<string> {
  return bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}
