// Measures the stores of a fleet and compares them with their bare servers: npm run bench:stores -- redis postgres
import { runPostgres } from "./stores/postgres.ts";
import { runRedis } from "./stores/redis.ts";

const STORES = { postgres: runPostgres, redis: runRedis };
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const names = process.argv.slice(2);
for (const [name, measure] of Object.entries(STORES)) {
  if (names.length === 0 || names.includes(name)) await measure({ say });
}
const unknown = names.find((name) => !Object.hasOwn(STORES, name));
if (unknown !== undefined) {
  process.stderr.write(`There is no store ${unknown}: ${Object.keys(STORES).join(", ")}.\n`);
  process.exitCode = 1;
}
