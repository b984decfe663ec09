// One gateway of a fleet, with Redis and PostgreSQL. Its environment variables are HOST, PORT; REDIS_URL, REDIS_PREFIX, DATABASE_URL;
// CELLS_FILE, CELL, the file of cells.ts and this gateway's cell; SHUTDOWN_SECONDS, how long it finishes requests in progress at
// shutdown; DRAIN_SECONDS, how long before that it continues to serve while /readyz returns 503; and
// CALOTYPE_API_KEY or CALLERS_FILE, ARK_API_KEY, ARK_BASE_URL. Without an account at Volcengine Ark, the images are emulated.
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createGateway } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { createPostgresLedger } from "@calotype/postgres";
import { createRedisAdmissionStore } from "@calotype/redis";
import { Redis } from "ioredis";
import { Pool } from "pg";
import { type CellMember, joinCells } from "./cells.ts";
import { emulateArk } from "./emulate-ark.ts";
import { followConnections } from "./end-connections.ts";
import { readOptions } from "./options.ts";

const { env, close: closeEmulator } = await emulateArk(process.env);

const redis = new Redis(env["REDIS_URL"] || "redis://127.0.0.1:6379");
redis.on("error", ({ message }) => console.error(`Redis: ${message}`));
const pool = new Pool({
  connectionString: env["DATABASE_URL"] || "postgres://postgres@127.0.0.1:5432/postgres",
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
});
const ledger = createPostgresLedger({ pool });
await ledger.ready().catch(fail);

const options = readOptions(env);
const cells = await openCells(options).catch(fail);
const gateway = createGateway({
  ...options,
  // With cells, callers of other cells are refused.
  ...(cells !== undefined && { callers: undefined, authenticate: cells.authenticate }),
  ledger,
  admission: createRedisAdmissionStore({ client: redis, prefix: env["REDIS_PREFIX"] || "calotype:" }),
});
// Tasks of a gateway that died go on here at once, and not with the first request.
gateway.start();
const respond = toNodeHandler(gateway);

const LAST_REQUESTS_MS = 200;
let isDraining = false;
const server = createServer((req, res) => {
  // Whether the process runs, and whether it accepts new requests. Neither checks Redis or PostgreSQL: an outage
  // affects all gateways at once, and their error responses are better than those of a balancer without any gateway.
  if (req.url === "/cell" && cells !== undefined) cells.respond(req, res);
  else if (req.url === "/healthz") res.end("ok\n");
  else if (req.url === "/readyz") res.writeHead(isDraining ? 503 : 200).end(isDraining ? "ending\n" : "ok\n");
  else respond(req, res);
});
// Longer than the balancer keeps connections, so that the balancer ends them first. This side might end one while a
// request is on its way.
server.keepAliveTimeout = 75_000;
server.listen(Number(env["PORT"] || 8787), env["HOST"] || "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`gateway listens on port ${address?.port}`);
});
server.on("error", fail);
const parting = followConnections(server);

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void shutDown());

async function shutDown(): Promise<void> {
  isDraining = true;
  parting.endConnectionsAfterResponses();
  await sleep(1_000 * Number(env["DRAIN_SECONDS"] || 2));
  parting.stopListening();
  // A request may still arrive over the connections that were accepted last.
  await sleep(LAST_REQUESTS_MS);
  await gateway.close({ deadlineSeconds: Number(env["SHUTDOWN_SECONDS"] || 25) });
  cells?.close();
  await ledger.close();
  await pool.end();
  redis.disconnect();
  await closeEmulator();
  server.closeIdleConnections();
  // Ends the process even if a client does not read its response.
  setTimeout(() => process.exit(), 2_000).unref();
}

async function openCells({ callers }: ReturnType<typeof readOptions>): Promise<CellMember | undefined> {
  const { CELLS_FILE: path, CELL: own } = env;
  if (!path) return undefined;
  if (!own) throw new Error("CELL must be the name of a cell in CELLS_FILE.");
  return await joinCells({ path, own, callers });
}

/** Ends the process with one line that gives the reason. */
function fail(reason: unknown): never {
  console.error(reason instanceof Error ? reason.message : reason);
  process.exit(1);
}
