import { writeSync } from "node:fs";
import { createSqliteLedger } from "../create-sqlite-ledger.js";
import { recordOf } from "./entries.js";
import { submissionOf } from "./tasks.js";

/* Submits the tasks of shared idempotency keys, takes, sends and ends tasks until none is left, and prints those it sent. */
const [path = "", name = "", count = "0"] = process.argv.slice(2);
const ledger = createSqliteLedger({ path });
const { tasks } = ledger;

for (let at = 0; at < Number(count); at++) {
  const [task, hold] = submissionOf(`${name}-${at}`, {
    repeat: { key: `key ${at}`, fingerprint: "content" },
  });
  const { kind } = await tasks.submit(task, hold);
  if (kind !== "submitted" && kind !== "repeated") throw new Error(`A task was not submitted: ${kind}.`);
}
for (;;) {
  const taken = await tasks.take({ limit: 3, except: [] });
  if (taken.length === 0) break;
  for (const { id, requestId } of taken) {
    if (!(await tasks.markSent(id))) throw new Error(`${id} was taken twice.`);
    writeSync(1, `${id}\n`);
    await tasks.end({
      id,
      status: "completed",
      record: recordOf({ id: requestId, task: id, charge: "0.5" }),
    });
  }
}
await ledger.close();
