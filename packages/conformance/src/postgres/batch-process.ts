import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { usageBatches } from "@calotype/core/compose";
import { createPostgresLedger } from "@calotype/postgres";
import { createSqliteLedger } from "@calotype/sqlite";
import { Pool } from "pg";

/*
 * Delivers batches until its standard input ends or it is killed. The first argument is the address of PostgreSQL, or the path of a
 * SQLite file. A batch takes a while, and every fifth is refused. For others it writes a line with the time and the ids.
 */
const [url = "", schema = ""] = process.argv.slice(2);
const ledger = url.startsWith("postgres")
  ? createPostgresLedger({ pool: new Pool({ connectionString: url, application_name: schema }), schema })
  : createSqliteLedger({ path: url });
const write = (line: string): void => void writeSync(1, `${line}\n`);
let calls = 0;
const log = (fields: object, message: string): void => {
  if (!message.startsWith("onUsageBatch failed")) write(`log ${JSON.stringify({ ...fields, message })}`);
};
const { openDelivery } = usageBatches({
  async onUsageBatch(records) {
    const ids = records.map(({ id }) => id).join(" ");
    await sleep(100);
    calls += 1;
    if (calls % 5 === 2) throw new Error("Every fifth batch is refused.");
    write(`end ${process.hrtime.bigint()} ${ids}`);
  },
});
const delivery = openDelivery?.({ ledger, send: undefined, logger: { warn: log, error: log } });
write("started");
process.stdin.resume();
while (!process.stdin.readableEnded) {
  await delivery?.run(true);
  await sleep(20);
}
await delivery?.stop();
process.exit(0);
