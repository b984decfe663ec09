import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Pool } from "pg";
import { findFreePort } from "./find-free-port.ts";
import { type Service, urlOf } from "./service.ts";

/** The program of PgBouncer. Its address is the path. */
export const PGBOUNCER: Service = {
  name: "PgBouncer",
  variable: "PGBOUNCER",
  url: "/usr/sbin/pgbouncer",
  probe: async (path) => await promisify(execFile)(path, ["--version"]),
};

/** A PgBouncer that runs. */
export interface PgBouncer {
  /** The address for clients. */
  readonly url: string;
  /** Kills it, and starts it again at the same address. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts PgBouncer in transaction mode before a database. A connection of a client gets any connection of the server for each
 * transaction, so nothing of a session is left to the next one, and prepared statements with names cannot be used.
 */
export async function startPgBouncer(database: string): Promise<PgBouncer> {
  const { hostname, port, username, pathname } = new URL(database);
  const directory = await mkdtemp(join(tmpdir(), "pgbouncer-"));
  const ownPort = await findFreePort();
  const file = join(directory, "pgbouncer.ini");
  await writeFile(
    file,
    `[databases]
test = host=${hostname} port=${port || 5432} dbname=${pathname.slice(1)} user=${username}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 200
`,
  );
  await chmod(directory, 0o755);
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const start = (): ChildProcess => spawn(urlOf(PGBOUNCER), ["-q", ...user, file], { stdio: "ignore" });
  let child = start();
  const url = `postgres://${username}@127.0.0.1:${ownPort}/test`;
  const stop = async (): Promise<void> => {
    await end(child);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await untilReady(url);
  } catch (error) {
    await stop();
    throw error;
  }
  const restart = async (): Promise<void> => {
    await end(child);
    child = start();
    await untilReady(url);
  };
  return { url, restart, stop };
}

async function untilReady(url: string): Promise<void> {
  for (let triesLeft = 100; ; triesLeft--) {
    const pool = new Pool({ connectionString: url, max: 1 });
    try {
      await pool.query("SELECT 1");
      return;
    } catch (error) {
      if (triesLeft === 0) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    } finally {
      await pool.end();
    }
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}
