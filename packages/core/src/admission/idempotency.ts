import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { GatewayError, invalidRequest } from "../errors.js";
import type { HeaderReader } from "../exchange.js";
import type { JsonObject } from "../json.js";

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

/**
 * Under what a store knows a key: every caller and path has keys of its own. A hash, so that it is short
 * whatever a client sends; of JSON, which keeps the three apart.
 */
export function toClaimKey(callerId: string, path: string, key: string): string {
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify([callerId, path, key]))));
}

/** The same for the same fields. They can be megabytes: Web Crypto hashes beside the event loop. */
export async function toFingerprint(fields: JsonObject): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(fields));
  return bytesToHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** An image takes 19 to 60 s, and clients come again twice of their own. */
const RUNNING_RETRY_SECONDS = 10;

/** Another request had this key. */
export function createConflictError(): GatewayError {
  const message =
    "Another request was sent with this Idempotency-Key: send a new key, or the same request as before.";
  // Clients of OpenAI repeat a 409 by themselves.
  return new GatewayError("idempotency_conflict", message, { shouldRetry: false });
}

/** The same request is running. */
export function createRunningError(): GatewayError {
  const message = `The request with this Idempotency-Key is still running: try again in ${RUNNING_RETRY_SECONDS} s.`;
  return new GatewayError("idempotency_in_progress", message, { retryAfterSeconds: RUNNING_RETRY_SECONDS });
}

/** It was answered, and the answer is gone. */
export function createNotReplayableError(): GatewayError {
  const message =
    "The request with this Idempotency-Key was answered, and its answer was not kept (a stream, or too large). " +
    "Send a new key to run it again; it is charged again.";
  return new GatewayError("idempotency_not_replayable", message, { shouldRetry: false });
}
