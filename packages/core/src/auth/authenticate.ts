import { GatewayError, isGatewayError } from "../errors.js";
import { HostError } from "../events.js";
import type { GatewayRequest, HeaderReader } from "../http.js";
import { createKeyRedaction, toPlainError } from "../redact.js";
import type { Caller } from "../types.js";
import { isPromiseLike } from "../util/async.js";
import { parseInstant } from "../util/instant.js";
import { hashApiKey } from "./api-key.js";
import { type CallerRules, checkCaller } from "./check-caller.js";

/** A caller of the gateway with its API key, or better with the {@link hashApiKey} of the key. */
export interface CallerOptions extends Caller {
  /** The key itself. Only its hash is kept. */
  readonly key?: string | undefined;
  /** SHA-256 of the key, 64 hexadecimal digits. */
  readonly hash?: string | undefined;
}

/**
 * Your own check of an API key: returns the caller that holds the key, or nothing if the key is unknown. `apiKey` comes
 * from `Authorization: Bearer`, or from `api-key` if there is no `Authorization` header.
 */
export type Authenticate = (
  apiKey: string,
  headers: HeaderReader,
) => Caller | null | undefined | Promise<Caller | null | undefined>;

/** The caller of a request. */
export interface FoundCaller extends Caller {
  /** The beginning and the end of its key. Only of callers that are created at run time, which may have several. */
  readonly keyHint?: string | undefined;
}

/** Looks up the caller that holds a key. */
export type FindCaller = (
  apiKey: string,
  headers: HeaderReader,
) => FoundCaller | undefined | Promise<FoundCaller | undefined>;

/** Finds the signed-in user of a request without a key header, whose host has `findUser`. May throw. */
export type FindSignedIn = (request: AuthenticatedRequest) => Promise<Caller>;

/** What tells who sent a request. */
export type AuthenticatedRequest = Omit<GatewayRequest, "body" | "signal">;

/**
 * Returns the caller of a request. The result is a promise only if the operator checks keys or users: other code of the host may
 * read the body as soon as the gateway waits, and the gateway must listen before.
 * @throws GatewayError `invalid_api_key`, `not_signed_in`, `cross_site_request`
 */
export type Authenticator = (request: AuthenticatedRequest) => FoundCaller | Promise<FoundCaller>;

/** What {@link createAuthenticator} needs. */
export interface AuthenticatorParts {
  /** {@link findByOperator}, {@link findByHash}, and what stored callers are found by. */
  readonly find: FindCaller;
  /** `undefined` without the feature `signedInUsers`. */
  readonly findSignedIn?: FindSignedIn | undefined;
  readonly rules: CallerRules;
  readonly now: () => number;
}

/** Creates an authenticator. */
export function createAuthenticator({ find, findSignedIn, rules, now }: AuthenticatorParts): Authenticator {
  const admit = (
    caller: FoundCaller | undefined,
    { preferences }: Pick<GatewayRequest, "preferences">,
  ): FoundCaller => {
    if (caller === undefined) throw refused("Wrong API key.");
    checkExpiry(caller, now());
    return preferences === undefined ? caller : { ...caller, ...preferences };
  };
  return (request) => {
    const { headers } = request;
    if (request.caller !== undefined) {
      checkCaller(request.caller, rules, "the host named");
      return admit(request.caller, request);
    }
    const apiKey = readApiKey(headers);
    if (apiKey === undefined && request.findUser !== undefined && !hasKeyHeader(headers)) {
      if (findSignedIn === undefined)
        throw new HostError("The option caller needs the feature signedInUsers.");
      return findSignedIn(request).then((user) => admit(user, request));
    }
    if (apiKey === undefined) {
      throw refused("No API key: send the header Authorization: Bearer <API_KEY>, or api-key: <API_KEY>.");
    }
    const caller = find(apiKey, headers);
    return isPromiseLike(caller) ? caller.then((found) => admit(found, request)) : admit(caller, request);
  };
}

/** Finds callers by the operator's function and checks what it returns. */
export function findByOperator(authenticate: Authenticate, rules: CallerRules): FindCaller {
  return async (apiKey, headers) => {
    let caller: Caller | null | undefined;
    try {
      caller = await authenticate(apiKey, headers);
    } catch (error) {
      // Errors of databases quote the values of a query, and the API key must not be logged.
      throw isGatewayError(error)
        ? error
        : toPlainError(error, createKeyRedaction([apiKey, hashApiKey(apiKey)]));
    }
    if (!caller) return undefined;
    checkCaller(caller, rules);
    return caller;
  };
}

/**
 * Finds callers by the hash of their key. Only hashes are kept and compared, so the time of a lookup reveals nothing
 * about a key.
 */
export function findByHash(callers: readonly CallerOptions[]): FindCaller {
  const byHash = new Map<string, Caller>(
    callers.map(({ key, hash, ...caller }) => [hash?.toLowerCase() ?? hashApiKey(key ?? ""), caller]),
  );
  return (apiKey) => byHash.get(hashApiKey(apiKey));
}

/** Finds callers by one function, and those that it does not know by another one. */
export function findInTurn(first: FindCaller, second: FindCaller): FindCaller {
  return (apiKey, headers) => {
    const found = first(apiKey, headers);
    if (isPromiseLike(found)) return found.then((caller) => caller ?? second(apiKey, headers));
    return found ?? second(apiKey, headers);
  };
}

function checkExpiry({ expiresAt }: Caller, now: number): void {
  const end = endOf(expiresAt);
  if (!(now < end)) throw refused(`This API key expired at ${new Date(end).toISOString()}.`);
}

/** When a caller expires. A time that cannot be read must not admit anyone, so it counts as past. */
export function endOf(expiresAt: Caller["expiresAt"]): number {
  return expiresAt === undefined ? Infinity : (parseInstant(expiresAt) ?? 0);
}

const SCHEME = "Bearer ";

/** The key in `Authorization: Bearer`. Without an `Authorization` header, the key in `api-key`, which Azure's clients send. */
function readApiKey(headers: HeaderReader): string | undefined {
  const authorization = headers.get("authorization");
  if (authorization === null) return /^ *(\S+) *$/.exec(headers.get("api-key") ?? "")?.[1];
  return /^Bearer +\S+ *$/i.test(authorization) ? authorization.slice(SCHEME.length).trim() : undefined;
}

/** Whether a request has a header for a key, also one in which no key can be read. */
function hasKeyHeader(headers: HeaderReader): boolean {
  return headers.get("authorization") !== null || headers.get("api-key") !== null;
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_api_key", message, { headers: { "www-authenticate": "Bearer" } });
}
