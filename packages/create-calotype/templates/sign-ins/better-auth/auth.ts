import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import type { Caller } from "@calotype/core";
import { betterAuth } from "better-auth";
import { createAuthEndpoint, sessionMiddleware } from "better-auth/api";
import { getMigrations } from "better-auth/db/migration";
import { fromNodeHeaders } from "better-auth/node";
import { gateway } from "./gateway.ts";
import { userDatabase } from "./user-database.ts";
import { requireVariables } from "./variables.ts";

if (process.env.NODE_ENV === "production")
  requireVariables(
    ["BETTER_AUTH_SECRET", "BETTER_AUTH_URL"],
    "`openssl rand -base64 32` prints a good secret.",
  );

/** What each user may spend. */
const budget = { amount: "5", period: "month" } as const;

/** GET /api/auth/budget: what the signed-in user has spent this month, and what is left. */
const readBudget = createAuthEndpoint("/budget", { method: "GET", use: [sessionMiddleware] }, async (ctx) =>
  ctx.json(await gateway.budgets.read({ id: `user:${ctx.context.session.user.id}`, budget })),
);

/** The users of the app, with email and password. Everyone can create an account: https://www.better-auth.com has more. */
export const auth = betterAuth({
  database: userDatabase,
  emailAndPassword: { enabled: true },
  secret: readSecret(),
  baseURL: process.env.BETTER_AUTH_URL || {
    allowedHosts: ["localhost:*", "127.0.0.1:*"],
    protocol: "http",
  },
  plugins: [{ id: "budget", endpoints: { readBudget } }],
});
const { runMigrations } = await getMigrations(auth.options);
await runMigrations(); // creates the tables, and changes them after an update of better-auth

/** Finds the user of a request without a key: one from a page of this app. */
export async function findUser({ headers }: RequestWithHeaders): Promise<Caller | null> {
  const session = await auth.api.getSession({
    headers: headers instanceof Headers ? headers : fromNodeHeaders(headers),
  });
  if (session === null) return null; // nobody is signed in: 401
  return {
    id: session.user.id,
    budget,
    limits: { requestsPerMinute: 20, concurrent: 2 },
  };
}

/** A request of the framework. */
interface RequestWithHeaders {
  readonly headers: Headers | IncomingHttpHeaders;
}

/** Signs the cookies. While you develop, it is made once, so that a restart signs nobody out. */
function readSecret(): string {
  if (process.env.BETTER_AUTH_SECRET) return process.env.BETTER_AUTH_SECRET;
  const path = "data/development-secret";
  if (!existsSync(path)) {
    mkdirSync("data", { recursive: true });
    writeFileSync(path, randomBytes(32).toString("base64url"), { mode: 0o600 });
  }
  return readFileSync(path, "utf8");
}
