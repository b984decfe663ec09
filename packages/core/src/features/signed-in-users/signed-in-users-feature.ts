import * as z from "zod/mini";
import { type AuthenticatedRequest, endOf, type FindSignedIn } from "../../auth/authenticate.js";
import { type CallerRules, checkCaller, USER_PREFIX } from "../../auth/check-caller.js";
import { GatewayError, isGatewayError } from "../../errors.js";
import { HostError } from "../../events.js";
import type { HeaderReader } from "../../http.js";
import type { Feature } from "../../kernel/feature.js";
import { checkFeatureOptions } from "../../options/problems.js";
import { createKeyRedaction, toPlainError } from "../../redact.js";
import type { Caller } from "../../types.js";
import type { Fields } from "../../util/parse-fields.js";
import { type AppOrigins, checkSite } from "./check-site.js";

/** The options of {@link signedInUsers}. `createGateway` takes `publicUrl` from `results`. */
export interface SignedInUsersOptions {
  /**
   * The URL of the app in browsers, such as `https://app.example.com`. Only its scheme, host and port count. Default: the scheme
   * of the connection and the header `Host`.
   */
  readonly publicUrl?: string | undefined;
}

const PUBLIC_URL = "must be an http or https address";

const schema = /* @__PURE__ */ (() =>
  z.strictObject(
    {
      publicUrl: z.optional(
        z.string(PUBLIC_URL).check(z.refine((url) => /^https?:/i.test(url) && URL.canParse(url), PUBLIC_URL)),
      ),
    } satisfies Fields<SignedInUsersOptions>,
    "must be an object",
  ))();

/**
 * The app's own signed-in users are callers: a request without a key belongs to the user that the option `caller` of the adapter
 * or of `fetch` finds, see `MountOptions`. Besides the pages of the app, those of the origins that the feature `cors` names may send
 * requests of users.
 *
 * @throws GatewayOptionsError
 * @example
 * ```ts
 * import { composeGateway, signedInUsers } from "@calotype/core/compose";
 * import { seedream } from "@calotype/core/families";
 *
 * const gateway = composeGateway(
 *   {
 *     models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
 *     channels: [{ id: "ark", family: "seedream", apiKey: process.env.ARK_API_KEY }],
 *     callers: [],
 *   },
 *   { families: [seedream], features: [signedInUsers({ publicUrl: "https://app.example.com" })] },
 * );
 * ```
 */
export function signedInUsers(options: SignedInUsersOptions = {}): Feature {
  checkFeatureOptions(schema, options);
  return createSignedInUsersFeature(options);
}

/** @param options validated before the feature is set up */
export function createSignedInUsersFeature({ publicUrl }: SignedInUsersOptions): Feature {
  return {
    name: "signed-in-users",
    setup: ({ now, contributed }) => ({
      configure({ callerRules }) {
        const app = publicUrl === undefined ? undefined : new URL(publicUrl).origin;
        const origins = { app, others: contributed().cors?.origins };
        return { findSignedIn: createFindSignedIn({ origins, callerRules, now }) };
      },
    }),
  };
}

interface SignInContext {
  readonly origins: AppOrigins;
  readonly callerRules: CallerRules;
  readonly now: () => number;
}

/** Finds signed-in users. A request that another site may have sent is refused before the app is asked. */
function createFindSignedIn({ origins, callerRules, now }: SignInContext): FindSignedIn {
  return async (request) => {
    checkSite(request, origins);
    const user = await callHost(request);
    if (!user) throw notSignedIn();
    const caller = checked(() => toCaller(user, callerRules));
    if (!(now() < endOf(caller.expiresAt))) throw notSignedIn();
    return caller;
  };
}

async function callHost({ findUser, headers }: AuthenticatedRequest): Promise<Caller | null | undefined> {
  try {
    return await findUser?.();
  } catch (error) {
    if (isGatewayError(error)) throw error;
    // Errors of databases quote the values of a query, and the token of a session must not be logged.
    throw failed(toPlainError(error, createKeyRedaction(tokensOf(headers))));
  }
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw failed(error);
  }
}

function failed(cause: unknown): HostError {
  return new HostError(
    "The option caller of this server failed, so nothing was sent. The log of the server says why.",
    {
      cause,
    },
  );
}

/** What a missing id becomes if it is put into a string. */
const NO_IDS: ReadonlySet<unknown> = new Set(["", "undefined", "null", "NaN", "[object Object]"]);

/** @throws TypeError for a user without an id: all such users would share a budget, limits and tasks */
function toCaller(user: Caller, rules: CallerRules): Caller {
  const id: unknown = user.id;
  if (typeof id !== "string" || NO_IDS.has(id.trim())) {
    throw new TypeError(
      `caller returned a user without id: it must be a string that no other user has, not ${typeof id === "string" ? JSON.stringify(id) : typeof id}.`,
    );
  }
  const caller = { ...user, id: USER_PREFIX + id };
  checkCaller(caller, rules, "caller returned");
  return caller;
}

function notSignedIn(): GatewayError {
  return new GatewayError(
    "not_signed_in",
    "Nobody is signed in: sign in, or send an API key in the header Authorization: Bearer <API_KEY>.",
    { headers: { "www-authenticate": "Bearer" } },
  );
}

/** A shorter part of a cookie is a name, or too short to be a secret. */
const MIN_TOKEN = 16;

/** The parts of the cookies that may be tokens, as they were sent and decoded. */
function tokensOf(headers: HeaderReader): readonly string[] {
  const cookie = headers.get("cookie") ?? "";
  return [
    cookie,
    cookie.replace(/%([\da-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
  ]
    .flatMap((text) => text.split(/[^\w-]+/))
    .filter((part) => part.length >= MIN_TOKEN);
}
