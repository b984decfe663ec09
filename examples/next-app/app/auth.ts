// The users of the app: better-auth, with email and password.
import { DatabaseSync } from "node:sqlite";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";

declare global {
  var exampleAuth: ReturnType<typeof openAuth> | undefined;
}

/** One for all routes of the app. It is opened by the first request, because `next build` loads the routes without a secret. */
export function getAuth() {
  globalThis.exampleAuth ??= openAuth();
  return globalThis.exampleAuth;
}

/** The user of a request, or `undefined` if nobody is signed in. */
export async function findUser(headers: Headers) {
  const auth = await getAuth();
  const session = await auth.api.getSession({ headers });
  return session?.user;
}

async function openAuth() {
  const auth = betterAuth({
    // Name a file here to keep the users.
    database: new DatabaseSync(":memory:"),
    emailAndPassword: { enabled: true },
    // On a server, BETTER_AUTH_URL is the address of the app.
    baseURL: process.env["BETTER_AUTH_URL"] || {
      allowedHosts: ["localhost:*", "127.0.0.1:*"],
      protocol: "http",
    },
  });
  const { runMigrations } = await getMigrations(auth.options);
  await runMigrations();
  return auth;
}
