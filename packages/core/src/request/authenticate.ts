import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { GatewayError } from "../errors.js";
import type { HeaderReader } from "../exchange.js";
import type { Caller } from "../image-request.js";

/** A caller of the gateway and the key it holds: in clear, or better its {@link hashApiKey}. */
export interface ApiKeyOptions extends Caller {
  /** The key itself. Kept only as its hash. */
  readonly key?: string | undefined;
  /** SHA-256 of the key, 64 hexadecimal digits. */
  readonly hash?: string | undefined;
}

/**
 * The operator's own key check: the caller who holds the key, or nothing when nobody does.
 * The request's headers come with it.
 */
export type Authenticate = (
  apiKey: string,
  headers: HeaderReader,
) => Caller | null | undefined | Promise<Caller | null | undefined>;

/** Who sent a request. @throws GatewayError `invalid_api_key` */
export type Authenticator = (headers: HeaderReader) => Promise<Caller>;

/**
 * SHA-256 of an API key in hexadecimal, as `apiKeys[].hash` takes it.
 *
 * @example
 * ```ts
 * import { hashApiKey } from "@calotype/core";
 *
 * const hash = hashApiKey("sk-a-long-random-key");
 * ```
 */
export function hashApiKey(apiKey: string): string {
  return bytesToHex(sha256(utf8ToBytes(apiKey)));
}

/** An authenticator over the operator's function, or over a list of keys. */
export function createAuthenticator(find: Authenticate): Authenticator {
  return async (headers) => {
    const apiKey = readBearer(headers.get("authorization"));
    if (apiKey === undefined) {
      throw refused("No API key: send the header Authorization: Bearer <API_KEY>.");
    }
    const caller = await find(apiKey, headers);
    if (!caller) throw refused("Wrong API key.");
    // Without it nobody could be charged. It is the operator's function that is wrong, not the client.
    if (typeof caller.id !== "string" || caller.id === "")
      throw new TypeError("authenticate gave a caller without id.");
    return caller;
  };
}

/**
 * Finds callers by the hash of their key. Only hashes are held and compared, so the time of a
 * look-up tells nothing of a key.
 */
export function findByHash(apiKeys: readonly ApiKeyOptions[]): Authenticate {
  const callers = new Map(
    apiKeys.map(({ key, hash, ...caller }) => [hash?.toLowerCase() ?? hashApiKey(key ?? ""), caller]),
  );
  return (apiKey) => callers.get(hashApiKey(apiKey));
}

function readBearer(header: string | null): string | undefined {
  return header === null ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1];
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_api_key", message, { headers: { "www-authenticate": "Bearer" } });
}
