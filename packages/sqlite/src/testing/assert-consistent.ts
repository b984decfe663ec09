import { DatabaseSync } from "node:sqlite";
import type { UsageRecord } from "@calotype/core/billing";
import { Big } from "big.js";
import { expect } from "vitest";
import { createSqliteLedger } from "../create-sqlite-ledger.js";
import { isToBeReleased } from "./is-to-be-released.js";
import { readAll } from "./read-all.js";

/**
 * Opens the file of a killed process after its lease has expired, sweeps once, and compares records and balances with
 * the lines that the process printed.
 */
export async function assertConsistent(path: string, now: number, lines: readonly string[]): Promise<void> {
  const ledger = createSqliteLedger({ path, now: () => now });
  await ledger.sweep({ onLost: "release" });
  const records = await readAll(ledger);
  const printed = (word: string): string[][] =>
    lines.map((line) => line.split(" ")).flatMap(([first, ...rest]) => (first === word ? [rest] : []));
  const byId = new Map(records.map((record) => [record.id, record]));

  expect(byId.size).toBe(records.length);
  for (const [id = "", charge] of printed("settled")) {
    expect(byId.get(id)).toMatchObject({ state: "settled", charge });
  }
  for (const [id = ""] of printed("released")) expect(byId.get(id)).toBeUndefined();
  // A hold without an end has a settled or unresolved record, unless a release was in progress.
  const held = printed("held").flatMap(([id = ""]) => (isToBeReleased(id) ? [] : [id]));
  expect(held.filter((id) => !byId.has(id))).toEqual([]);
  const callers = new Set(records.map(({ caller }) => caller));
  for (const caller of ["caller-0", "caller-1", "caller-2", ...callers]) {
    const charges = records.filter((record) => record.caller === caller);
    expect(await ledger.balance(caller)).toEqual({ settled: sumOf(charges), held: "0" });
  }
  expect(await ledger.sweep({ onLost: "charge" })).toEqual([]);
  await ledger.close();
  expect(checkFile(path)).toBe("ok");
}

function sumOf(records: readonly UsageRecord[]): string {
  return records.reduce((sum, { charge }) => sum.plus(charge ?? 0), new Big(0)).toFixed();
}

function checkFile(path: string): unknown {
  const database = new DatabaseSync(path);
  const result = database.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
  database.close();
  return result;
}
