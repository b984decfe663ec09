import { GatewayError, isGatewayError } from "../errors.js";
import type { HeaderReader } from "../http.js";
import { createKeyMask, toPlainError } from "../redact.js";
import type { Caller } from "../types.js";
import { parseInstant } from "../util/instant.js";
import { isPromiseLike } from "../util/promise-like.js";
import { hashApiKey } from "./api-key.js";
import { type CallerRules, checkCaller } from "./check-caller.js";

/** A caller of the gateway and the key it holds: in clear, or better its {@link hashApiKey}. */
export interface CallerOptions extends Caller {
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

/** A caller that was found, and when its key ends in milliseconds since 1970: `Infinity` for never. */
interface FoundCaller {
  readonly caller: Caller;
  readonly expiresAt: number;
}

/** Looks up who holds a key. */
export type FindCaller = (
  apiKey: string,
  headers: HeaderReader,
) => FoundCaller | undefined | Promise<FoundCaller | undefined>;

/** Who sent a request. @throws GatewayError `invalid_api_key` */
export type Authenticator = (headers: HeaderReader) => Caller | Promise<Caller>;

/** An authenticator over one way to find callers: {@link findByOperator} or {@link findByHash}. */
export function createAuthenticator(find: FindCaller, now: () => number): Authenticator {
  const admit = (found: FoundCaller | undefined): Caller => {
    if (found === undefined) throw refused("Wrong API key.");
    // Not the other way round: a time that is no number must not let anybody in.
    if (found.expiresAt === Infinity || now() < found.expiresAt) return found.caller;
    throw refused(`This API key expired at ${new Date(found.expiresAt).toISOString()}.`);
  };
  return (headers) => {
    const apiKey = readBearer(headers.get("authorization"));
    if (apiKey === undefined) {
      throw refused("No API key: send the header Authorization: Bearer <API_KEY>.");
    }
    const found = find(apiKey, headers);
    return isPromiseLike(found) ? found.then(admit) : admit(found);
  };
}

/** Finds callers by the operator's function, and checks what it gives. */
export function findByOperator(authenticate: Authenticate, rules: CallerRules): FindCaller {
  return async (apiKey, headers) => {
    const caller = await askOperator(authenticate, apiKey, headers);
    if (!caller) return undefined;
    checkCaller(caller, rules);
    return toFound(caller);
  };
}

/** Errors of databases quote the values of a query; the key is no affair of the log. */
async function askOperator(
  authenticate: Authenticate,
  apiKey: string,
  headers: HeaderReader,
): Promise<Caller | null | undefined> {
  try {
    return await authenticate(apiKey, headers);
  } catch (error) {
    throw isGatewayError(error) ? error : toPlainError(error, createKeyMask([apiKey, hashApiKey(apiKey)]));
  }
}

/**
 * Finds callers by the hash of their key. Only hashes are held and compared, so the time of a
 * look-up tells nothing of a key.
 */
export function findByHash(callers: readonly CallerOptions[]): FindCaller {
  const byHash = new Map(
    callers.map(({ key, hash, ...caller }) => [
      hash?.toLowerCase() ?? hashApiKey(key ?? ""),
      toFound(caller),
    ]),
  );
  return (apiKey) => byHash.get(hashApiKey(apiKey));
}

function toFound(caller: Caller): FoundCaller {
  const { expiresAt } = caller;
  return { caller, expiresAt: expiresAt === undefined ? Infinity : (parseInstant(expiresAt) ?? 0) };
}

const SCHEME = "Bearer ";

function readBearer(header: string | null): string | undefined {
  return header !== null && /^Bearer +\S+ *$/i.test(header) ? header.slice(SCHEME.length).trim() : undefined;
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_api_key", message, { headers: { "www-authenticate": "Bearer" } });
}
