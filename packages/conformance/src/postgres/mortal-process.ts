import { writeSync } from "node:fs";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { holdOf, recordOf } from "./entries.ts";

/*
 * Holds, settles and releases until it is killed. It prints a line after the ledger's promise has resolved, so each
 * line is an acknowledged write.
 */
const [url = "", schema = "", name = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, application_name: schema });
const ledger = createPostgresLedger({ pool, schema });

await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)));

async function work(worker: number): Promise<never> {
  for (let round = 0; ; round++) {
    const facts = { id: `${name}-${worker}-${round}`, caller: `caller-${worker % 3}` };
    await ledger.hold(holdOf({ ...facts, amount: "0.5" }));
    writeSync(1, `held ${facts.id}\n`);
    if (round % 3 === 1) {
      await ledger.release(facts.id);
      writeSync(1, `released ${facts.id}\n`);
    } else {
      const charge = `0.${(round % 9) + 1}`;
      await ledger.settle(recordOf({ ...facts, charge }));
      writeSync(1, `settled ${facts.id} ${charge}\n`);
    }
  }
}
