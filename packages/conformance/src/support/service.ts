import { Redis } from "ioredis";
import { Pool } from "pg";

/** A server that some tests need and that not every machine has. */
export interface Service {
  readonly name: string;
  /** The environment variable with another address. */
  readonly variable: string;
  /** The default address. */
  readonly url: string;
  /** Whether a machine with `CI=true` may lack it, too. Default false. */
  readonly isOptional?: boolean;
  /** Rejects if the server cannot be used. */
  readonly probe: (url: string) => Promise<unknown>;
}

/** Any Redis server. Tests use unique names and remove what they wrote. */
export const REDIS: Service = {
  name: "Redis",
  variable: "REDIS_URL",
  url: "redis://127.0.0.1:6379",
  probe: async (url) => {
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
    client.on("error", () => undefined); // connect rejects with it
    try {
      await client.connect();
      await client.ping();
    } finally {
      client.disconnect();
    }
  },
};

/** A PostgreSQL server with a database for the tests. */
export const POSTGRES: Service = {
  name: "PostgreSQL",
  variable: "CALOTYPE_TEST_POSTGRES",
  url: "postgres://postgres@127.0.0.1:5432/test",
  probe: async (url) => {
    const pool = new Pool({ connectionString: url, connectionTimeoutMillis: 5000 });
    try {
      await pool.query("SELECT 1");
    } finally {
      await pool.end();
    }
  },
};

/** The address of a server. */
export function urlOf({ variable, url }: Service): string {
  return process.env[variable] ?? url;
}

/**
 * Checks whether a server can be used, and prints a line if not.
 *
 * @throws Error if the server cannot be used and `CI=true`, unless it is optional
 */
export async function canUse(
  { name, variable, isOptional = false, probe }: Service,
  url: string,
): Promise<boolean> {
  try {
    await probe(url);
    return true;
  } catch (cause) {
    const notice = `needs ${name}, which is neither at its usual address nor at that of ${variable}`;
    if (process.env["CI"] === "true" && !isOptional) throw new Error(`This test file ${notice}.`, { cause });
    process.stderr.write(`Left out: what ${notice}.\n`);
    return false;
  }
}
