// The fleet of compose.yaml without containers: Redis, PostgreSQL, two gateways and nginx, each a local process in a
// temporary folder. If REDIS_URL or DATABASE_URL is set, uses that server instead. If nginx is not installed,
// round-robin.ts distributes the requests. Ctrl+C ends everything. PORT is the port, by default 8080. If CELLS_FILE names a file
// such as cells.json, the fleet is that of compose.cells.yaml: each cell has two gateways, a database and a prefix of its own.
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { checkPlan } from "./cells.ts";
import { emulateArk } from "./emulate-ark.ts";
import { findPort, type Running, startProgram } from "./program.ts";
import { startRoundRobin } from "./round-robin.ts";
import { findNginx, startNginx } from "./start-nginx.ts";
import { createDatabase, startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";

const GATEWAY = fileURLToPath(new URL("gateway.ts", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "calotype-fleet-"));
// nginx and PostgreSQL do not run as root, so they need access to the folder.
chmodSync(folder, 0o755);
/** The programs that the gateways need, in the order in which they were started. */
const behind: Running[] = [];
/** The gateways and the balancer. */
const front: Running[] = [];
let ending: Promise<void> | undefined;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void end());
const starting = start();
await starting.catch(async (error: unknown) => {
  if (ending === undefined) {
    console.error(error instanceof Error ? [error.message, error.cause].filter(Boolean).join(" ") : error);
    process.exitCode = 1;
  }
  await end();
});

async function start(): Promise<void> {
  const { env, close } = await emulateArk(process.env);
  behind.push({ stop: close });
  const redisUrl = env["REDIS_URL"] || (await keep(behind, startRedis(folder))).url;
  const databaseUrl = env["DATABASE_URL"] || (await keep(behind, startPostgres(folder))).url;
  const variables = { ...env, REDIS_URL: redisUrl, DATABASE_URL: databaseUrl };
  const cells = await planCells(variables);
  const gateways = await Promise.all(
    // Two for each cell.
    cells.flatMap((cell) => [cell, cell]).map((cell) => keep(front, startGateway({ ...variables, ...cell }))),
  );
  const ports = gateways.map((gateway) => gateway.port);
  const port = Number(env["PORT"] || 8080) || (await findPort());
  const nginx = findNginx();
  const hasCells = Boolean(env["CELLS_FILE"]);
  if (hasCells && !nginx) throw new Error("Cells need nginx, which is not installed.");
  await keep(
    front,
    nginx
      ? startNginx(nginx, folder, { port, gateways: ports }, hasCells ? "nginx-cells.conf" : "nginx.conf")
      : startRoundRobin(port, ports),
  );
  const baseUrl = `http://localhost:${port}/v1`;
  console.log(`calotype listens on ${baseUrl}`);
  console.log(`  balancer    ${nginx ?? "round-robin.ts; nginx is not installed"}`);
  for (const [index, { pid, port: own, cell = "" }] of gateways.entries())
    console.log(`  gateway ${index + 1}   http://127.0.0.1:${own} (process ${pid}) ${cell}`.trimEnd());
  console.log(`  Redis       ${redisUrl}`);
  console.log(`  PostgreSQL  ${databaseUrl.replace(/:[^:@/]+@/, ":…@")}`);
  const key = env["CALOTYPE_API_KEY"] === "sk-local" ? "sk-local" : "<CALOTYPE_API_KEY>";
  console.log(`Try it, and end it with Ctrl+C:
  curl ${baseUrl}/images/generations -H 'Authorization: Bearer ${key}' \\
    -H 'Content-Type: application/json' -d '{"model":"seedream-4-0-250828","prompt":"an oak"}'`);
}

/** Registers a part as soon as it runs. After the shutdown has begun, nothing more is started. */
async function keep<Part extends Running>(parts: Running[], starts: Promise<Part>): Promise<Part> {
  const part = await starts;
  parts.push(part);
  if (ending !== undefined) throw new Error("The fleet is shutting down.");
  return part;
}

/** The variables in which the gateways of each cell differ. Without cells there is one, without differences. */
async function planCells({ CELLS_FILE, DATABASE_URL = "" }: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv[]> {
  if (!CELLS_FILE) return [{}];
  const path = resolve(CELLS_FILE);
  const { cells } = checkPlan(JSON.parse(readFileSync(path, "utf8")));
  if (cells.join() !== "cell-1,cell-2") throw new Error("nginx-cells.conf has the cells cell-1 and cell-2.");
  return await Promise.all(
    cells.map(async (cell) => ({
      CELL: cell,
      CELLS_FILE: path,
      REDIS_PREFIX: `calotype:${cell}:`,
      DATABASE_URL: await createDatabase(DATABASE_URL, cell),
    })),
  );
}

/** A gateway that runs. */
interface RunningGateway extends Running {
  readonly port: number;
  readonly cell: string | undefined;
}

/** The same as in compose.yaml and compose.cells.yaml. */
async function startGateway(variables: NodeJS.ProcessEnv): Promise<RunningGateway> {
  const port = await findPort();
  const running = await startProgram(process.execPath, [GATEWAY], {
    name: "A gateway",
    port,
    // First no new requests are accepted.
    env: { DRAIN_SECONDS: "0", ...variables, PORT: String(port) },
    stdio: ["ignore", "inherit", "inherit"],
  });
  return { ...running, port, cell: variables["CELL"] };
}

async function end(): Promise<void> {
  ending ??= endAll();
  await ending;
}

/** The gateways settle requests in progress before their stores end. */
async function endAll(): Promise<void> {
  await Promise.allSettled([starting]);
  await Promise.all(front.map((part) => part.stop()));
  for (const part of behind.toReversed()) await part.stop();
  rmSync(folder, { recursive: true, force: true });
}
