// Measures the stores besides PostgreSQL: Redis, compared with the smallest possible call, and SQLite.
// npm run bench:stores -- [--store]
import { parseArgs } from "node:util";
import { beginRun } from "./stored-run.ts";
import { measureRedis, type RedisResults } from "./stores/redis.ts";
import { measureSqlite, type SqliteResults } from "./stores/sqlite.ts";

/** The results of a run. */
export interface StoresResults {
  readonly redis: RedisResults;
  readonly sqlite: SqliteResults;
}

const { values: options } = parseArgs({ options: { store: { type: "boolean", default: false } } });
const store = beginRun("npm run bench:stores");
const results: StoresResults = { redis: await measureRedis(), sqlite: await measureSqlite() };
process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
if (options.store) process.stdout.write(`stored in ${store("stores", results)}\n`);
