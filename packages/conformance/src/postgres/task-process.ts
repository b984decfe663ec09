import { once } from "node:events";
import { writeSync } from "node:fs";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { recordOf } from "./entries.ts";

/*
 * One process that works on tasks. It prints `taken <id>`, `sent <id>` and `ended <id>` after the ledger's promise has
 * resolved. With "hold" it keeps what it takes, and sends every other task. Otherwise it ends each task, until no task
 * waits.
 */
const [url = "", schema = "", mode = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, application_name: schema });
const ledger = createPostgresLedger({ pool, schema });
const { tasks } = ledger;

await ledger.ready();
writeSync(1, "ready\n");
await once(process.stdin, "data");
await Promise.all(Array.from({ length: 4 }, work));
process.exit();

async function work(): Promise<void> {
  for (;;) {
    const taken = await tasks.take({ limit: 7, except: [] });
    if (taken.length === 0) return;
    writeSync(1, taken.map(({ id }) => `taken ${id}\n`).join(""));
    for (const [at, { id, requestId, caller }] of taken.entries()) {
      if (mode === "hold" && at % 2 === 1) continue;
      const isSent = await tasks.markSent(id);
      writeSync(1, isSent ? `sent ${id}\n` : `lost ${id}\n`);
      if (mode === "hold" || !isSent) continue;
      const record = recordOf({ id: requestId, caller, charge: "0.1" });
      await tasks.end({ id, status: "completed", result: "{}", record });
      writeSync(1, `ended ${id}\n`);
    }
  }
}
