// The server of docs/your-users.md with a sign-in: users of better-auth make images, each with a budget.
import { DatabaseSync } from "node:sqlite";
import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import { closeOnSignals } from "@calotype/node";
import { createSqliteLedger } from "@calotype/sqlite";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { fromNodeHeaders, toNodeHandler } from "better-auth/node";
import express, { type Request } from "express";

const port = Number(process.env["PORT"] ?? 8787);

// In production, set `baseURL` to the address of your site, and BETTER_AUTH_SECRET to a secret that stays the same.
const auth = betterAuth({
  secret: process.env["BETTER_AUTH_SECRET"] ?? crypto.randomUUID() + crypto.randomUUID(),
  database: new DatabaseSync("users.db"),
  emailAndPassword: { enabled: true },
});
await (await getMigrations(auth.options)).runMigrations(); // makes its tables

/** The user of a request, as better-auth finds it. */
async function findUser(req: Request): Promise<{ id: string } | undefined> {
  const session = await auth.api.getSession({ headers: fromNodeHeaders(req.headers) });
  return session?.user;
}

// Plays the provider while ARK_API_KEY is not set.
const emulator = await createEmulator().listen();
const apiKey = process.env["ARK_API_KEY"] || undefined;
const ledger = createSqliteLedger({ path: "charges.db" });
const gateway = createGateway({
  models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
  channels: [
    {
      id: "ark",
      family: "seedream",
      apiKey: apiKey ?? "any",
      ...(apiKey === undefined ? { baseUrl: emulator.arkBaseUrl } : {}),
    },
  ],
  callers: [], // no keys; or those of programs
  billing: { model_details: { "*": { pricing_mode: "per-request", model_price: "0.25" } } },
  showCharge: true, // responses have the header x-calotype-charge
  ledger,
});

const app = express();
app.all("/api/auth/*splat", toNodeHandler(auth));
app.use(
  "/ai", // before express.json() and other body parsers
  toExpressHandler(gateway, {
    async caller(req) {
      const user = await findUser(req);
      if (user === undefined) return null; // nobody is signed in: 401
      return { id: user.id, budget: { amount: "1", period: "month" }, limits: { requestsPerMinute: 10 } };
    },
  }),
);
app.get("/spent", async (req, res) => {
  const user = await findUser(req);
  if (user === undefined) return void res.sendStatus(401);
  res.json(await ledger.balance(`user:${user.id}`));
});

app.get("/", (req, res) => {
  res.type("text").send(describeCommands(`${req.protocol}://${req.get("host")}`));
});

const server = app.listen(port, (error) => {
  if (error) throw error; // for example: the port is in use
  const address = server.address();
  const used = typeof address === "object" && address !== null ? address.port : port;
  console.log(`calotype listens on http://localhost:${used}`);
});
closeOnSignals(server, gateway, {
  onClosed: async () => {
    await ledger.close();
    await emulator.close();
  },
});

/** What a visitor of `/` can do. The commands are those of the page. */
function describeCommands(origin: string): string {
  return `Make images as a user, in a terminal:

app=${origin} json=content-type:application/json
site() { curl -b jar -c jar -H origin:$app -H $json "$app$@"; }
site /api/auth/sign-up/email -d \\
  '{"name": "Ada", "email": "ada@mail.example", "password": "correct horse"}'
site /ai/v1/images/generations -i -d \\
  '{"model": "doubao-seedream-4-5-251128", "prompt": "Three oak trees", "n": 3}'
site /spent

With an account, sign in:

site /api/auth/sign-in/email -d \\
  '{"email": "ada@mail.example", "password": "correct horse"}'
`;
}
