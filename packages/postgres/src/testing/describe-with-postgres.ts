import { randomUUID } from "node:crypto";
import { Pool } from "pg";
import { afterAll, describe } from "vitest";

const URL = process.env["CALOTYPE_TEST_POSTGRES"] ?? "postgres://postgres@127.0.0.1:5432/test";

/** What a test that needs a server can use. */
export interface PostgresBench {
  readonly url: string;
  readonly pool: Pool;
  /** Returns the name of a new schema, which is removed after the tests. */
  readonly nameSchema: () => string;
}

/**
 * Describes tests that need PostgreSQL. If it is not available, they are skipped, and a line on stderr says so. With
 * `CI=true` this function rejects instead.
 */
export async function describeWithPostgres(
  name: string,
  describeTests: (bench: PostgresBench) => void,
): Promise<void> {
  const isThere = await canConnect();
  describe.runIf(isThere)(`${name}, on PostgreSQL`, () => {
    const schemas: string[] = [];
    // The tests do not end the server, so they need not wait for its disk.
    const pool = new Pool({ connectionString: URL, options: "-c synchronous_commit=off" });
    afterAll(async () => {
      for (const schema of schemas) await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
      await pool.end();
    });
    const nameSchema = (): string => {
      const schema = `calotype_test_${randomUUID()}`;
      schemas.push(schema);
      return schema;
    };
    describeTests({ url: URL, pool, nameSchema });
  });
}

async function canConnect(): Promise<boolean> {
  const pool = new Pool({ connectionString: URL, connectionTimeoutMillis: 5000 });
  try {
    await pool.query("SELECT 1");
    return true;
  } catch (cause) {
    const notice =
      "needs PostgreSQL, which is neither at its usual address nor at that of CALOTYPE_TEST_POSTGRES";
    if (process.env["CI"] === "true") throw new Error(`This test file ${notice}.`, { cause });
    process.stderr.write(`Left out: a test file that ${notice}.\n`);
    return false;
  } finally {
    await pool.end();
  }
}
