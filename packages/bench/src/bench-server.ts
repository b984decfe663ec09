import { POSTGRES_PROGRAMS, startPostgresServer } from "@calotype/conformance/postgres/postgres-server";
import { Pool } from "pg";
import { readServerCpuMs } from "./system/process-cost.ts";

/** A PostgreSQL server that only the bench uses, so that its CPU time is that of the bench. */
export interface BenchServer {
  readonly url: string;
  readonly version: string;
  /** The CPU time so far, in milliseconds. */
  readonly readCpuMs: () => number;
  /** Starts the server again with these settings in place of its defaults, and of what was set before. Closes all connections. */
  readonly restart: (settings: Readonly<Record<string, string>>) => Promise<void>;
  /** Stops the server and removes its database. */
  readonly remove: () => Promise<void>;
}

/** Starts a server in the temporary folder. It acknowledges what is on the disk. */
export async function startBenchServer(): Promise<BenchServer> {
  const server = await startPostgresServer(POSTGRES_PROGRAMS.url);
  const query = async (...statements: readonly string[]): Promise<string> => {
    const pool = new Pool({ connectionString: server.url, max: 1 });
    try {
      let value = "";
      for (const sql of statements) {
        const { rows } = await pool.query<Record<string, unknown>>(sql);
        value = String(Object.values(rows[0] ?? {})[0]);
      }
      return value;
    } finally {
      await pool.end();
    }
  };
  const findProcess = async (): Promise<number> =>
    Number(await query(String.raw`SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)`));
  const version = await query("SHOW server_version");
  let pid = await findProcess();
  return {
    url: server.url,
    version,
    readCpuMs: () => readServerCpuMs(pid),
    restart: async (settings) => {
      const sets = Object.entries(settings).map(([name, value]) => `ALTER SYSTEM SET ${name} = '${value}'`);
      await query("ALTER SYSTEM RESET ALL", ...sets);
      await server.stop("fast");
      await server.start();
      pid = await findProcess();
    },
    remove: server.remove,
  };
}
