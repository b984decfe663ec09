import { execFileSync } from "node:child_process";
import { chownSync, globSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { findPort, startProgram } from "./program.ts";
import type { Server } from "./start-redis.ts";

/** Creates a database in a folder and starts `postgres` with it. */
export async function startPostgres(parent: string): Promise<Server> {
  const port = await findPort();
  const folder = join(parent, "postgres");
  const user = findUser();
  mkdirSync(folder);
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const programs = findPrograms();
  const data = join(folder, "data");
  const initialize = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
  execFileSync(join(programs, "initdb"), initialize, {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    ...user,
  });
  const args = ["-D", data, "-k", folder, "-h", "127.0.0.1", "-p", String(port)];
  const running = await startProgram(join(programs, "postgres"), [...args, "-c", "log_min_messages=fatal"], {
    name: "postgres",
    port,
    cwd: folder,
    // Ends the connections, then the server.
    stopSignal: "SIGINT",
    ...user,
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await untilReady(url).catch(async (error: unknown) => {
    await running.stop();
    throw error;
  });
  return { ...running, url };
}

/** Creates a database on a server, unless it exists. Returns its address. */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    const { rows } = await client.query("SELECT FROM pg_database WHERE datname = $1", [name]);
    if (rows.length === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.href;
}

/** The server listens shortly before it accepts sessions. */
async function untilReady(connectionString: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const client = new Client({ connectionString });
    try {
      await client.connect();
      return;
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(50);
    } finally {
      await client.end();
    }
  }
}

/** The newest version that the packages of Debian and Ubuntu installed, or the programs in the PATH. */
function findPrograms(): string {
  const { POSTGRES_PROGRAMS } = process.env;
  return POSTGRES_PROGRAMS || (globSync("/usr/lib/postgresql/*/bin").toSorted().at(-1) ?? "");
}

/** PostgreSQL refuses to run as root. In this case it runs as the user that its package created. */
function findUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  return { uid: readId("-u"), gid: readId("-g") };
}

function readId(option: "-u" | "-g"): number {
  return Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }));
}
