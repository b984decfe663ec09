import { describe, expect, it } from "vitest";
import { describeWithService } from "../support/needs-service.js";
import { POSTGRES } from "../support/service.js";
import { SEED } from "../support/test-run.js";
import { findProblems } from "./check-history.js";
import type { Round } from "./run-round.js";

const ROUND: Omit<Round, "ledger"> = {
  seed: SEED,
  onLost: "release",
  processes: 2,
  isSpawned: false,
  clients: 3,
  steps: 40,
  faults: [],
};

describe(`one order explains the results of all calls (seed ${SEED})`, () => {
  it("of clients of a ledger in memory", async () => {
    const round: Round = { ...ROUND, ledger: "memory", processes: 1, clients: 6, steps: 200 };
    expect(await findProblems(round)).toEqual([]);
  });

  it("of two ledgers on a file of SQLite", async () => {
    expect(await findProblems({ ...ROUND, ledger: "sqlite", onLost: "charge" })).toEqual([]);
  });

  it("of two processes on a file of SQLite that are killed", async () => {
    const round: Round = { ...ROUND, ledger: "sqlite", isSpawned: true, faults: ["kill"] };
    expect(await findProblems(round)).toEqual([]);
  });
});

await describeWithService(POSTGRES, () => {
  it(`one order explains the results of all calls of two ledgers that lose their connections (seed ${SEED})`, async () => {
    expect(await findProblems({ ...ROUND, ledger: "postgres", faults: ["cut"] })).toEqual([]);
  });
});
