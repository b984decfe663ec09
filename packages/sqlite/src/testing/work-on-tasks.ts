import { writeSync } from "node:fs";
import { createSqliteLedger } from "../create-sqlite-ledger.js";
import { copyAfterWrites } from "./copy-after-writes.js";
import { recordOf } from "./entries.js";
import { SWEEP, submit } from "./tasks.js";

/*
 * Submits tasks and brings each to another end, until it is killed or has finished its rounds. It prints a line for each
 * write after the store's promise has resolved, never before. With "copies", its files are copied after each write.
 */
const [path = "", name = "", start = "0", rounds = "1", copies = ""] = process.argv.slice(2);

// What a transaction did before its COMMIT is undone by SQLite, as the other crash tests show. So a file has as many different
// states as transactions, and each is seen before and after the write was acknowledged.
if (copies !== "") copyAfterWrites(path, /^(?:BEGIN|COMMIT)/);
const ledger = createSqliteLedger({ path, now: () => Number(start) });
const { tasks } = ledger;
const print = (...words: string[]): void => void writeSync(1, `${words.join(" ")}\n`);

for (let round = 0; round < Number(rounds); round++) await work(`${name}-${round}`);
await ledger.close();
print("closed");

/** Brings tasks to every state. The names of the tasks say what becomes of them. */
async function work(prefix: string): Promise<void> {
  const nameOf = (what: string): string => `${prefix}-${what}`;
  const idOf = (what: string): string => `task_${nameOf(what)}`;
  for (const what of ["completed", "lost", "refused", "cancelled", "queued"]) {
    await submit(ledger, nameOf(what), { webhooks: ["shop"], caller: prefix });
    print("submitted", nameOf(what));
  }
  await tasks.take({ limit: 3, except: [] });
  for (const what of ["completed", "lost"]) {
    if (await tasks.markSent(idOf(what))) print("sent", nameOf(what));
  }
  await tasks.addImages(idOf("completed"), ["one"]);
  const record = recordOf({
    id: `req_${nameOf("completed")}`,
    task: idOf("completed"),
    caller: prefix,
    charge: "0.3",
  });
  await tasks.end({ id: idOf("completed"), status: "completed", result: "result", record });
  print("completed", nameOf("completed"));
  await tasks.end({ id: idOf("refused"), status: "failed", error: "error" });
  print("failed", nameOf("refused"));
  if ((await tasks.cancel(prefix, idOf("cancelled")))?.input !== undefined) {
    print("cancelled", nameOf("cancelled"));
  }
  const [taken] = await ledger.outbox.lease("message", { limit: 1, leaseMs: 1_000, except: [] });
  if (taken !== undefined) await ledger.outbox.finish(taken.message.id, { kind: "delivered" });
  await tasks.sweep({ ...SWEEP, own: true });
  print("failed", nameOf("lost"));
  await tasks.cancel(prefix, idOf("queued"));
  print("cancelled", nameOf("queued"));
}
