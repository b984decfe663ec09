import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { createSqliteLedger, type SqliteLedger } from "./create-sqlite-ledger.js";
import { holdOf, recordOf, START } from "./testing/entries.js";
import { temporaryFile } from "./testing/temporary-file.js";

const PERIOD = {
  from: new Date(START - 86_400_000).toISOString(),
  to: new Date(START + 86_400_000).toISOString(),
};

function open(path: string): SqliteLedger {
  const ledger = createSqliteLedger({ path, now: () => START });
  onTestFinished(async () => await ledger.close());
  return ledger;
}

/** Makes the records of a file those of an older version, which counted nothing. */
function forgetCounts(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(
    "DELETE FROM hourly_totals; UPDATE records SET outcome = NULL, duration_ms = NULL, tokens = NULL",
  );
  return database;
}

it("records of an older version are counted once, by several ledgers at the same time", async () => {
  const path = temporaryFile();
  const first = open(path);
  await Promise.all(
    Array.from(
      { length: 900 },
      async (_, at) => await first.settle(recordOf({ id: `req_${at}`, charge: "0.1" })),
    ),
  );
  await first.hold(holdOf({ id: "lost" }));
  await first.sweep({ onLost: "charge", own: true });
  forgetCounts(path);

  const ledgers = [open(path), open(path)];
  const reports = await Promise.all(ledgers.map(async (ledger) => await ledger.history.series(PERIOD)));
  for (const { total } of reports) {
    expect(total.sums).toMatchObject({
      requests: 901,
      succeeded: 900,
      unresolved: 1,
      charge: "90.5",
      meanMs: 1500,
    });
  }
  const { records } = await first.history.page({ outcomes: ["unresolved"] });
  expect(records).toMatchObject([{ id: "lost" }]);
});

it("a record of an older version that is replaced before it is counted counts once", async () => {
  const path = temporaryFile();
  const first = open(path);
  await first.hold(holdOf({ id: "a" }));
  await first.sweep({ onLost: "charge", own: true });
  forgetCounts(path);
  await first.settle(recordOf({ id: "a" }));
  expect((await first.history.series(PERIOD)).total.sums).toMatchObject({
    requests: 1,
    succeeded: 1,
    charge: "0.3",
  });
});

it("a damaged record of an older version is counted as failed", async () => {
  const path = temporaryFile();
  const first = open(path);
  for (const id of ["a", "b"]) await first.settle(recordOf({ id }));
  forgetCounts(path).exec("UPDATE records SET record = 'x' WHERE id = 'a'");
  const { total } = await open(path).history.series(PERIOD);
  expect(total.sums).toMatchObject({ requests: 2, failed: 1, succeeded: 1, charge: "0.6" });
});

it("totals stay when records are removed", async () => {
  const path = temporaryFile();
  const ledger = open(path);
  await ledger.settle(recordOf({ id: "a" }));
  const database = new DatabaseSync(path);
  database.exec("DELETE FROM records");
  database.close();
  expect((await ledger.history.series(PERIOD)).total.sums).toMatchObject({ requests: 1, charge: "0.3" });
});
