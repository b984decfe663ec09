import { writeSync } from "node:fs";
import { createSqliteLedger } from "../create-sqlite-ledger.js";
import { holdOf, recordOf } from "./entries.js";

/* Makes 250 holds, ten at a time, settles every other one, and prints how many holds the budget allowed. */
const [path = "", name = "", budget = ""] = process.argv.slice(2);
const ledger = createSqliteLedger({ path });
let granted = 0;

await Promise.all(Array.from({ length: 10 }, async (_, worker) => await spend(worker)));
writeSync(1, `${granted}\n`);
await ledger.close();

async function spend(worker: number): Promise<void> {
  for (let round = 0; round < 25; round++) {
    const id = `${name}-${worker}-${round}`;
    const { ok } = await ledger.hold(holdOf({ id, amount: "0.1", budget }));
    if (!ok) continue;
    granted++;
    if (round % 2 === 0) await ledger.settle(recordOf({ id, charge: "0.1" }));
  }
}
