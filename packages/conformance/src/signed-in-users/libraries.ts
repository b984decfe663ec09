import { Auth, type AuthConfig } from "@auth/core";
import Credentials from "@auth/core/providers/credentials";
import { hashApiKey } from "@calotype/core";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import type { RequestHandler } from "express";
import session from "express-session";
import { CookieJar } from "./cookie-jar.js";

/** A user in a browser that is signed in. */
export interface SignedIn {
  /** The id that the app gives the user. */
  readonly id: string;
  readonly jar: CookieJar;
}

/** How a browser signs in to an app with a library, and out. */
export interface SignInClient {
  signIn(url: string, name: string): Promise<SignedIn>;
  signOut(url: string, user: SignedIn): Promise<void>;
}

/** The secret of all libraries. */
export const SECRET = "a secret of at least 32 characters, for tests";
const PASSWORD = "correct horse battery";

const toJson = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

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

export const betterAuthClient: SignInClient = {
  async signIn(url, name) {
    const jar = new CookieJar();
    const body = toJson({ name, email: `${name}@example.com`, password: PASSWORD });
    const response = await jar.send(`${url}/api/auth/sign-up/email`, body);
    if (response.status !== 200)
      throw new Error(`Sign-up failed: ${response.status} ${await response.text()}`);
    const { user }: { user: { id: string } } = (await response.json()) as never;
    return { id: user.id, jar };
  },
  async signOut(url, { jar }) {
    await jar.send(`${url}/api/auth/sign-out`, toJson({}));
  },
};

/** An app's own Auth.js. It keeps sessions in signed cookies, and puts no id into a session unless a callback does. */
export const AUTH_JS: AuthConfig & { readonly basePath: string } = {
  secret: SECRET,
  trustHost: true,
  basePath: "/api/auth",
  providers: [
    Credentials({
      credentials: { username: {}, password: {} },
      authorize: ({ username, password }) =>
        password === PASSWORD ? { id: `id-of-${String(username)}`, name: String(username) } : null,
    }),
  ],
  callbacks: {
    session({ session, token }) {
      if (token.sub !== undefined) session.user.id = token.sub;
      return session;
    },
  },
};

/** The id of the user who is signed in with Auth.js, for hosts without a package of Auth.js. */
export async function findAuthJsId(cookie: string | undefined): Promise<string | undefined> {
  const request = new Request("http://localhost/api/auth/session", { headers: { cookie: cookie ?? "" } });
  const found = (await (await Auth(request, AUTH_JS)).json()) as { user?: { id?: string } } | null;
  return found?.user?.id;
}

export const authJsClient: SignInClient = {
  async signIn(url, name) {
    const jar = new CookieJar();
    const { csrfToken } = (await (await jar.send(`${url}/api/auth/csrf`)).json()) as { csrfToken: string };
    const body = new URLSearchParams({ csrfToken, username: name, password: PASSWORD });
    await jar.send(`${url}/api/auth/callback/credentials`, { method: "POST", body });
    if (!jar.header.includes("session-token")) throw new Error("Sign-in failed.");
    return { id: `id-of-${name}`, jar };
  },
  async signOut(url, { jar }) {
    const { csrfToken } = (await (await jar.send(`${url}/api/auth/csrf`)).json()) as { csrfToken: string };
    await jar.send(`${url}/api/auth/signout`, { method: "POST", body: new URLSearchParams({ csrfToken }) });
  },
};

declare module "express-session" {
  interface SessionData {
    userId: string;
  }
}

/** An app's own express-session. Each response extends the session, so the middleware waits for its store at the end of each. */
export const createExpressSession = (): RequestHandler =>
  session({ secret: SECRET, resave: false, saveUninitialized: false, rolling: true });

export const expressSessionClient: SignInClient = {
  async signIn(url, name) {
    const jar = new CookieJar();
    await jar.send(`${url}/login?name=${name}`, { method: "POST" });
    return { id: `id-of-${name}`, jar };
  },
  async signOut(url, { jar }) {
    await jar.send(`${url}/logout`, { method: "POST" });
  },
};
