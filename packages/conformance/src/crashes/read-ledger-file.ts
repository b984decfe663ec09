import { readFileSync } from "node:fs";
import type { Balance, UsageRecord } from "@calotype/core/billing";
import { createSqliteLedger } from "@calotype/sqlite";
import { readRecords } from "../ledger-suite/read-ledger.ts";
import { CALLERS } from "./server-plan.ts";

/** The content of a ledger file. */
export interface LedgerContent {
  readonly records: readonly UsageRecord[];
  /** By the caller's id. */
  readonly balances: Readonly<Record<string, Balance>>;
}

/** Reads a ledger file. */
export async function readLedgerFile(ledgerPath: string): Promise<LedgerContent> {
  const ledger = createSqliteLedger({ path: ledgerPath });
  try {
    const records = await readRecords(ledger);
    const callers = Object.keys(CALLERS);
    const balances = await Promise.all(callers.map(async (id) => [id, await ledger.balance(id)] as const));
    return { records, balances: Object.fromEntries(balances) };
  } finally {
    await ledger.close();
  }
}

/** The records that `onUsage` got, by id, each in its last version. */
export function readSink(sinkPath: string): ReadonlyMap<string, UsageRecord> {
  const lines = readFileSync(sinkPath, "utf8").trimEnd().split("\n");
  return byId(
    lines.map((line) => {
      const record: UsageRecord = JSON.parse(line);
      return record;
    }),
  );
}

/** The last record of each id. */
export function byId(records: readonly UsageRecord[]): ReadonlyMap<string, UsageRecord> {
  return new Map(records.map((record) => [record.id, record]));
}
