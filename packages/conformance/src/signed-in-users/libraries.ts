import { Auth, type AuthConfig } from "@auth/core";
import Credentials from "@auth/core/providers/credentials";
import { hashApiKey } from "@calotype/core";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import type { RequestHandler } from "express";
import session from "express-session";
import { PASSWORD } from "./clients.js";

/** The secret of all libraries. */
export const SECRET = "a secret of at least 32 characters, for tests";
/** An app's own better-auth, with its memory adapter. */
export function createBetterAuth() {
  return betterAuth({
    secret: SECRET,
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    emailAndPassword: {
      enabled: true,
      // The default takes half a second.
      password: {
        hash: async (password) => hashApiKey(password),
        verify: async ({ hash, password }) => hash === hashApiKey(password),
      },
    },
    logger: { disabled: true },
    trustedOrigins: ["http://127.0.0.1:*"],
  });
}

/** An app's own Auth.js. It keeps sessions in signed cookies, and puts no id into a session unless a callback does. */
export const AUTH_JS: AuthConfig & { readonly basePath: string } = {
  secret: SECRET,
  trustHost: true,
  basePath: "/api/auth",
  // A forged cookie is an error of the library.
  logger: { error() {} },
  providers: [
    Credentials({
      credentials: { username: {}, password: {} },
      authorize: ({ username, password }) =>
        password === PASSWORD ? { id: `id-of-${String(username)}`, name: String(username) } : null,
    }),
  ],
  callbacks: {
    session({ session: found, token }) {
      if (token.sub !== undefined) found.user.id = token.sub;
      return found;
    },
  },
};

/** The id of the user who is signed in with Auth.js, for hosts without a package of Auth.js. */
export async function findAuthJsId(cookie: string | undefined): Promise<string | undefined> {
  const request = new Request("http://localhost/api/auth/session", { headers: { cookie: cookie ?? "" } });
  const response = await Auth(request, AUTH_JS);
  return /"id":"([^"]*)"/.exec(await response.text())?.[1];
}

declare module "express-session" {
  interface SessionData {
    userId: string;
  }
}

/** An app's own express-session. Each response extends the session, so the middleware waits for its store at the end of each. */
export const createExpressSession = (): RequestHandler =>
  session({ secret: SECRET, resave: false, saveUninitialized: false, rolling: true });
