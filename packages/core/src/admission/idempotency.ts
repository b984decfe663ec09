import { sha256 } from "#sha256";
import { GatewayError, invalidRequest } from "../errors.js";
import type { HeaderReader } from "../exchange.js";
import type { JsonObject } from "../json.js";
import type { IdempotencyClaim } from "./admission-store.js";
import { toFingerprint } from "./fingerprint.js";

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
export async function createClaim(request: ClaimedRequest): Promise<IdempotencyClaim> {
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
