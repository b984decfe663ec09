import { writeSync } from "node:fs";
import { createSqliteLedger } from "../create-sqlite-ledger.js";
import { copyAfterWrites } from "./copy-after-writes.js";
import { holdOf, recordOf } from "./entries.js";
import { isToBeReleased } from "./is-to-be-released.js";
import { createRandom } from "./random.js";

/*
 * Holds, settles and releases until it is killed or has finished its rounds. It prints a line for each write after
 * the ledger's promise has resolved, never before. With "copies", its files are copied after each write.
 */
const [path = "", name = "", start = "0", workers = "1", rounds = "1", copies = ""] = process.argv.slice(2);

if (copies !== "") copyAfterWrites(path);
const random = createRandom(Number(start));
const ledger = createSqliteLedger({ path, now: () => Number(start) });
const print = (...words: string[]): void => void writeSync(1, `${words.join(" ")}\n`);

await Promise.all(Array.from({ length: Number(workers) }, async (_, worker) => await work(worker)));
await ledger.close();
print("closed");

async function work(worker: number): Promise<void> {
  const caller = `caller-${worker % 3}`;
  for (let round = 0; round < Number(rounds); round++) {
    const id = `${name}-${worker}-${round}`;
    await ledger.hold(holdOf({ id, caller, amount: "0.5" }));
    print("held", id);
    if (isToBeReleased(id)) {
      await ledger.release(id);
      print("released", id);
    } else {
      const charge = String(Math.floor(random() * 500) / 1000);
      await ledger.settle(recordOf({ id, caller, charge }));
      print("settled", id, charge);
    }
  }
}
