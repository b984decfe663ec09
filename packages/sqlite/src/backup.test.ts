import { backup, DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { createSqliteLedger } from "./create-sqlite-ledger.js";
import { recordOf } from "./testing/entries.js";
import { readAll } from "./testing/read-all.js";
import { temporaryFile } from "./testing/temporary-file.js";

it("a backup of an open ledger contains every write that was acknowledged", async () => {
  const path = temporaryFile();
  const ledger = createSqliteLedger({ path });
  await ledger.settle(recordOf({ id: "req_1", charge: "0.3" }));
  const reader = new DatabaseSync(path, { readOnly: true });
  await backup(reader, `${path}.copy`);
  reader.close();
  await ledger.settle(recordOf({ id: "req_2" }));
  await ledger.close();

  const copy = createSqliteLedger({ path: `${path}.copy` });
  expect(await readAll(copy)).toEqual([recordOf({ id: "req_1", charge: "0.3" })]);
  expect(await copy.balance("me")).toEqual({ settled: "0.3", held: "0" });
  await copy.close();
});
