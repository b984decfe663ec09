import { once } from "node:events";
import { writeSync } from "node:fs";
import { findPeriod } from "@calotype/core/stores";
import { createPostgresLedger } from "@calotype/postgres";
import { Pool } from "pg";
import { holdOf, recordOf } from "./entries.ts";

/*
 * One process of a fleet. It waits for the others, and requests twenty holds from each of four shared budgets: one over all time,
 * one of this month, and one of a day, twenty at its last moment and twenty at the first moment of the next day. It settles every
 * other hold of the first budget, and the others stay open. It delivers records, prints what it did, and ends without closing its
 * ledger.
 */
const [url = "", schema = "", name = "", budget = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 1 });
const ledger = createPostgresLedger({ pool, schema });
const DAY = { unit: "day", timeZone: "Asia/Kathmandu" } as const;
const today = findPeriod(DAY, Date.now());
/** The clock of a second ledger. The processes reach the new day at different times. */
let clock = today.from - 1;
const edgeLedger = createPostgresLedger({ pool, schema, now: () => clock });

await ledger.ready();
writeSync(1, "ready\n");
await once(process.stdin, "data");

/** Holds of the same number from a budget with a period. */
const monthly = Promise.all(Array.from({ length: 20 }, (_, at) => spendInPeriod(at)));
const daily = spendAtEdge();
let granted = 0;
for (let round = 0; round < 10; round++) {
  for (const isGranted of await Promise.all([spend(2 * round), spend(2 * round + 1)]))
    granted += Number(isGranted);
}
const delivered: string[] = [];
for (;;) {
  const records = await ledger.takeUndelivered(5, 3_600_000);
  if (records.length === 0) break;
  await ledger.markDelivered(records);
  delivered.push(...records.map(({ id }) => id));
}
const grantedInPeriod = (await monthly).filter(Boolean).length;
const grantedByDay = await daily;
writeSync(1, JSON.stringify({ granted, grantedInPeriod, grantedByDay, delivered }));
process.exit();

async function spend(at: number): Promise<boolean> {
  const facts = { id: `${name}-${at}`, caller: "all" };
  const { ok } = await ledger.hold(holdOf({ ...facts, amount: "0.1", budget }));
  if (ok && at % 2 === 0) await ledger.settle(recordOf({ ...facts, charge: "0.1" }));
  return ok;
}

async function spendInPeriod(at: number): Promise<boolean> {
  const period = { unit: "month", timeZone: "America/Sao_Paulo" } as const;
  const facts = { id: `${name}-month-${at}`, caller: "monthly", amount: "0.1", budget, period };
  return (await ledger.hold(holdOf(facts))).ok;
}

/** Returns how many holds were granted before midnight, and how many after it. */
async function spendAtEdge(): Promise<readonly [number, number]> {
  const before = await spendDay("before");
  clock = today.from;
  return [before, await spendDay("after")];
}

/** Requests twenty holds, and returns how many were granted. */
async function spendDay(day: string): Promise<number> {
  let count = 0;
  for (let at = 0; at < 20; at++) {
    const facts = { id: `${name}-${day}-${at}`, caller: "daily", amount: "0.1", budget, period: DAY };
    count += Number((await edgeLedger.hold(holdOf(facts))).ok);
  }
  return count;
}
