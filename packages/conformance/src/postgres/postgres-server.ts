import { execFileSync, spawn } from "node:child_process";
import { appendFileSync, chownSync, existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findFreePort } from "../support/find-free-port.ts";
import type { Service } from "../support/needs-service.ts";

/** The folder of the PostgreSQL programs, for tests that stop and start a server. */
export const POSTGRES_PROGRAMS: Service = {
  name: "the programs of a PostgreSQL server",
  variable: "POSTGRES_PROGRAMS",
  url: globSync("/usr/lib/postgresql/*/bin").toSorted().at(-1) ?? "/usr/bin",
  probe: async (folder) => void execFileSync(join(folder, "initdb"), ["--version"], { stdio: "pipe" }),
};

/** A PostgreSQL server of a test. Acknowledged writes are on the disk. */
export interface PostgresServer {
  readonly port: number;
  readonly url: string;
  readonly start: () => Promise<void>;
  /** `fast` closes the connections and stops the server. `immediate` is like a crash. */
  readonly stop: (how: "fast" | "immediate") => Promise<void>;
  /** Stops the server and removes its folder. */
  readonly remove: () => Promise<void>;
}

/** A replica that can take the place of its primary. */
export interface PostgresReplica extends PostgresServer {
  /** Resolves when it accepts writes. */
  readonly promote: () => Promise<void>;
}

/** Existing folders for parts of a server that are not in its temporary folder. */
export interface PostgresFolders {
  /** For the tables. */
  readonly tables?: string | undefined;
  /** For the write-ahead log, whose segments then have 1 MB. */
  readonly log?: string | undefined;
}

/** Creates a database in a new folder and starts a server. */
export async function startPostgresServer(
  programs: string,
  { tables, log }: PostgresFolders = {},
): Promise<PostgresServer> {
  const site = await createSite(programs, tables);
  const initialize = ["-D", site.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
  if (log !== undefined) initialize.push("--wal-segsize=1", "-X", join(log, "log"));
  for (const folder of [tables, log]) if (folder !== undefined) site.give(folder);
  await site.run("initdb", initialize);
  await site.server.start();
  return site.server;
}

/**
 * Starts a streaming replica of a server.
 *
 * @param name what `synchronous_standby_names` of the primary calls it
 * @param primaryPort that of the primary, or of a proxy in front of it
 */
export async function startPostgresReplica(
  programs: string,
  primaryPort: number,
  name: string,
): Promise<PostgresReplica> {
  const site = await createSite(programs);
  const primary = `host=127.0.0.1 port=${primaryPort} user=postgres application_name=${name}`;
  await site.run("pg_basebackup", [
    "-D",
    site.data,
    "-d",
    primary,
    "-R",
    "-X",
    "stream",
    "-c",
    "fast",
    "--no-sync",
  ]);
  // Those of its primary were copied. It waits for no replica of its own.
  appendFileSync(join(site.data, "postgresql.auto.conf"), "synchronous_standby_names = ''\n");
  await site.server.start();
  return { ...site.server, promote: async () => await site.control("promote") };
}

/** A folder for a server, and the programs that use it. */
async function createSite(programs: string, tables?: string) {
  const port = await findFreePort();
  const folder = mkdtempSync(join(tmpdir(), "calotype-postgres-"));
  const user = process.getuid?.() === 0 ? { uid: readId("-u"), gid: readId("-g") } : undefined;
  const give = (path: string): void => {
    if (user !== undefined) chownSync(path, user.uid, user.gid);
  };
  give(folder);
  const runProgram = createRunner(folder, user);
  const run = async (program: string, args: readonly string[]): Promise<void> =>
    await runProgram(join(programs, program), args);
  const data = join(tables ?? folder, "data");
  const control = async (...args: string[]): Promise<void> =>
    await run("pg_ctl", ["-D", data, "-w", "-s", ...args]);
  const start = async (): Promise<void> =>
    await control("-l", join(folder, "log"), "-o", `-p ${port} -k ${folder} -h 127.0.0.1`, "start");
  const stop = async (how: "fast" | "immediate"): Promise<void> => await control("-m", how, "stop");
  const remove = async (): Promise<void> => {
    // It may have stopped before.
    if (existsSync(join(data, "postmaster.pid"))) await stop("immediate");
    rmSync(folder, { recursive: true });
  };
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const server: PostgresServer = { port, url, start, stop, remove };
  return { data, give, run, control, server };
}

type Run = (program: string, args: readonly string[]) => Promise<void>;

/** PostgreSQL refuses to run as root. In this case it runs as the user that its package created. */
function createRunner(folder: string, user: { readonly uid: number; readonly gid: number } | undefined): Run {
  return async (program, args) => {
    await new Promise<void>((resolve, reject) => {
      // No pipes, because the server that pg_ctl starts would keep them open.
      const child = spawn(program, args, { stdio: "ignore", cwd: folder, ...user });
      child.once("error", reject);
      child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${program} failed.`))));
    });
  };
}

function readId(option: "-u" | "-g"): number {
  return Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }));
}
