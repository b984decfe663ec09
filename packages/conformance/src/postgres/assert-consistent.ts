import type { Ledger } from "@calotype/core/stores";
import { expect } from "vitest";
import { readRecords } from "../ledger-suite/read-ledger.js";

/** Asserts that the balances are the sums of the records, and that each id has one record. */
export async function assertBalanced(ledger: Ledger): Promise<void> {
  const records = await readRecords(ledger);
  expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
  for (const { key, charge } of await ledger.totals("caller")) {
    expect({ key, ...(await ledger.balance(key)) }).toEqual({ key, settled: charge, held: "0" });
  }
}

/**
 * Compares the ledger with the lines that processes printed before they were killed. Their holds were swept.
 *
 * @param lines for example `settled <id> <charge>`, in any order
 */
export async function assertConsistent(ledger: Ledger, lines: readonly string[]): Promise<void> {
  const told = lines.map((line) => line.split(" "));
  const byId = new Map((await readRecords(ledger)).map((record) => [record.id, record]));
  const ended = new Set<string>();
  for (const [word, id = "", charge] of told) {
    if (word === "held") continue;
    ended.add(id);
    if (word === "settled") expect(byId.get(id)).toMatchObject({ state: "settled", charge });
    else expect(byId.get(id)).toBeUndefined();
  }
  // A hold without a later line is settled or unresolved. It is gone only if a release was in progress.
  const gone = told.flatMap(([, id = ""]) => (ended.has(id) || byId.has(id) ? [] : [id]));
  expect(gone.filter((id) => Number(id.split("-").at(-1)) % 3 !== 1)).toEqual([]);
  await assertBalanced(ledger);
}
