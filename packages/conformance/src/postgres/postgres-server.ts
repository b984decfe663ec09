import { execFileSync, spawn } from "node:child_process";
import { chownSync, globSync, mkdtempSync, rmSync } from "node:fs";
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
  readonly url: string;
  readonly start: () => Promise<void>;
  /** `fast` closes the connections and stops the server. `immediate` is like a crash. */
  readonly stop: (how: "fast" | "immediate") => Promise<void>;
  /** Stops the server and removes its folder. */
  readonly remove: () => Promise<void>;
}

/** Creates a database in a new folder and starts a server. */
export async function startPostgresServer(programs: string): Promise<PostgresServer> {
  const port = await findFreePort();
  const folder = mkdtempSync(join(tmpdir(), "calotype-postgres-"));
  const run = createRunner(folder);
  const data = join(folder, "data");
  const control = async (...args: string[]): Promise<void> =>
    await run(join(programs, "pg_ctl"), ["-D", data, "-w", "-s", ...args]);
  const start = async (): Promise<void> =>
    await control("-l", join(folder, "log"), "-o", `-p ${port} -k ${folder} -h 127.0.0.1`, "start");
  const stop = async (how: "fast" | "immediate"): Promise<void> => await control("-m", how, "stop");
  const initialize = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"];
  await run(join(programs, "initdb"), initialize);
  await start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    start,
    stop,
    remove: async () => {
      await stop("immediate");
      rmSync(folder, { recursive: true });
    },
  };
}

type Run = (program: string, args: readonly string[]) => Promise<void>;

/** PostgreSQL refuses to run as root. In this case it runs as the user that its package created. */
function createRunner(folder: string): Run {
  const user = process.getuid?.() === 0 ? { uid: readId("-u"), gid: readId("-g") } : {};
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
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
