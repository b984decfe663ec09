// The fleet of compose.yaml without containers: Redis, PostgreSQL, two gateways and nginx, each a process of this
// machine in a temporary folder. Uses what REDIS_URL and DATABASE_URL name instead of starting its own, and turns of
// its own where nginx is not installed. Ctrl+C ends all of it. PORT: where it listens, by default 8080.
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { emulateProviders } from "@calotype/example-options/emulate-providers";
import { findPort, type Running, startProgram } from "./program.ts";
import { startRoundRobin } from "./round-robin.ts";
import { findNginx, startNginx } from "./start-nginx.ts";
import { startPostgres } from "./start-postgres.ts";
import { startRedis } from "./start-redis.ts";

const GATEWAY = fileURLToPath(new URL("gateway.ts", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "calotype-fleet-"));
// nginx and PostgreSQL give up the rights of root.
chmodSync(folder, 0o755);
/** What the gateways need, in the order in which it was started. */
const behind: Running[] = [];
/** The gateways and what stands before them. */
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
  const { env, close } = await emulateProviders(process.env);
  behind.push({ stop: close });
  const redisUrl = env["REDIS_URL"] || (await keep(behind, startRedis(folder))).url;
  const databaseUrl = env["DATABASE_URL"] || (await keep(behind, startPostgres(folder))).url;
  const variables = { ...env, REDIS_URL: redisUrl, DATABASE_URL: databaseUrl };
  const gateways = [await findPort(), await findPort()];
  const processes = await Promise.all(gateways.map((port) => keep(front, startGateway(port, variables))));
  const port = Number(env["PORT"] || 8080) || (await findPort());
  const nginx = findNginx();
  await keep(front, nginx ? startNginx(nginx, folder, { port, gateways }) : startRoundRobin(port, gateways));
  const baseUrl = `http://localhost:${port}/v1`;
  console.log(`calotype listens on ${baseUrl}`);
  console.log(`  balancer    ${nginx ?? "round-robin.ts; nginx is not installed"}`);
  for (const [index, own] of gateways.entries())
    console.log(`  gateway ${index + 1}   http://127.0.0.1:${own} (process ${processes[index]?.pid})`);
  console.log(`  Redis       ${redisUrl}`);
  console.log(`  PostgreSQL  ${databaseUrl.replace(/:[^:@/]+@/, ":…@")}`);
  const key = env["CALOTYPE_API_KEY"] === "sk-local" ? "sk-local" : "<CALOTYPE_API_KEY>";
  console.log(`Try it, and end it with Ctrl+C:
  curl ${baseUrl}/images/generations -H 'Authorization: Bearer ${key}' \\
    -H 'Content-Type: application/json' -d '{"model":"seedream-4-0-250828","prompt":"an oak"}'`);
}

/** Notes a part as soon as it runs; nothing more is started once the end has begun. */
async function keep<Part extends Running>(parts: Running[], starts: Promise<Part>): Promise<Part> {
  const part = await starts;
  parts.push(part);
  if (ending !== undefined) throw new Error("It was told to end.");
  return part;
}

/** As compose.yaml does it. */
async function startGateway(port: number, variables: NodeJS.ProcessEnv): Promise<Running> {
  return await startProgram(process.execPath, [GATEWAY], {
    name: "A gateway",
    port,
    // Whoever ends all of it lets nothing new in.
    env: { DRAIN_SECONDS: "0", ...variables, PORT: String(port) },
    stdio: ["ignore", "inherit", "inherit"],
  });
}

async function end(): Promise<void> {
  ending ??= endAll();
  await ending;
}

/** The gateways settle what is under way before that ends in which they keep it. */
async function endAll(): Promise<void> {
  await Promise.allSettled([starting]);
  await Promise.all(front.map((part) => part.stop()));
  for (const part of behind.toReversed()) await part.stop();
  rmSync(folder, { recursive: true, force: true });
}
