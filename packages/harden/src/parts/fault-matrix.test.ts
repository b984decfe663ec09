import { createMemoryLedger } from "@calotype/core";
import { describe, expect, it } from "vitest";
import { type Cell, listCells } from "./faults/cells.ts";
import { runCell } from "./faults/run-cell.ts";

const NO_SERVICES = { redisUrl: undefined, postgresUrl: undefined };
const CELL: Cell = { host: "node:http", kind: "json", fault: "none", protocol: "http/1.1" };

async function rulesBroken(
  change: Partial<Cell>,
  options: Parameters<typeof runCell>[2],
): Promise<readonly string[]> {
  const { problems } = await runCell({ ...CELL, ...change }, NO_SERVICES, options);
  return problems.map(({ rule }) => rule);
}

describe("the fault matrix", () => {
  it("has every fault on seven hosts, over three protocols, on three release lines", () => {
    const cells = listCells();

    expect(new Set(cells.map((cell) => JSON.stringify(cell))).size).toBe(cells.length);
    expect(Map.groupBy(cells, ({ host }) => host).size).toBe(7);
    expect(Map.groupBy(cells, ({ protocol }) => protocol).size).toBe(3);
    expect(Map.groupBy(cells, ({ node }) => node).size).toBe(3);
    expect(cells.length).toBeGreaterThan(252);
  });

  it("says which cells it leaves out without their server", async () => {
    const { leftOut, problems } = await runCell({ ...CELL, fault: "Redis is down" }, NO_SERVICES);

    expect(leftOut).toMatch(/missing/);
    expect(problems).toEqual([]);
  });

  it("finds a charge that is made twice", async () => {
    const ledger = createMemoryLedger();
    const settleTwice: typeof ledger.settle = async (record) => {
      await ledger.settle(record);
      await ledger.hold({ ...record, period: undefined, id: `${record.id}-2`, amount: "0.5", ttlMs: 60_000 });
      await ledger.settle({ ...record, id: `${record.id}-2` });
    };

    expect(await rulesBroken({}, { ledger: { ...ledger, settle: settleTwice } })).toContain(
      "the charge is what the provider made and reported",
    );
  });
});
