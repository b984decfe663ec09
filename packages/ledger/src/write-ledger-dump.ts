import { rename } from "node:fs/promises";
import {
  BUDGET_STORE,
  CALLER_STORE,
  type CallerAuditLine,
  type CallerStore,
  compareStrings,
  countRecord,
  createCounts,
  findAbility,
  formatDecimal,
  type GrowingCounts,
  type Ledger,
  readDecimal,
  readFacts,
  type StoredCaller,
  type UsageRecord,
} from "@calotype/core/stores";
import { createDumpWriter } from "./dump-file.js";
import { TABLES, type TableRow, type Value } from "./tables.js";

/** Options of {@link writeLedgerDump}. */
export interface DumpOptions {
  /**
   * Ids of callers whose balances are written too, although the ledger has none of their records any more. Those that were created at
   * run time, and those with records, are known. Default: none.
   */
  readonly callers?: readonly string[] | undefined;
}

/**
 * Writes what a ledger in memory has into a new file, which `calotype-ledger copy --from` reads: records, totals of hours, balances,
 * balances of periods, and callers that were created at run time. Call it after `gateway.close()`.
 *
 * It uses the public methods of the ledger only, so it works with a ledger of your own too. What they do not tell is not in the file:
 * tasks, records that were not delivered, which thresholds of budgets have had an alert (an alert may come again), and totals of hours
 * whose records the ledger has dropped.
 *
 * @param path of the new file; its name should end with `.jsonl`. An existing file is replaced when the new one is complete
 * @throws Error if money is held: a request is in progress
 * @example
 * ```ts
 * import { createMemoryLedger } from "@calotype/core/billing";
 * import { writeLedgerDump } from "@calotype/ledger";
 *
 * const ledger = createMemoryLedger();
 * await writeLedgerDump(ledger, "ledger.jsonl");
 * ```
 */
export async function writeLedgerDump(
  ledger: Ledger,
  path: string,
  options: DumpOptions = {},
): Promise<void> {
  const part = `${path}.part`;
  const writer = createDumpWriter(part);
  try {
    const store = findAbility(ledger, CALLER_STORE);
    const stored = store === undefined ? [] : await listCallers(store);
    const counted = new Map<string, CountedHour>();
    const ids = new Set([...(options.callers ?? []), ...stored.map(({ id }) => id)]);
    const tables = new Map<string, TableRow[]>(TABLES.map(({ name }) => [name, []]));
    for await (const record of ledger.records()) {
      ids.add(record.caller);
      count(counted, record);
      tables.get("records")?.push(toRecordRow(record));
    }
    const hours = [...counted.values()].toSorted(
      (one, other) => one.hour - other.hour || compareStrings(one.name, other.name),
    );
    tables.set("hourly_totals", hours.map(toHourRow));
    const sorted = [...ids].toSorted(compareStrings);
    const budgets = findAbility(ledger, BUDGET_STORE);
    for (const caller of sorted) {
      const { settled, held } = await ledger.balance(caller);
      if (held !== "0") {
        throw new Error(`${held} is held for the caller ${JSON.stringify(caller)}: close the gateway first.`);
      }
      tables.get("balances")?.push([caller, settled, held, null, 0]);
      const periods = (await budgets?.list({ caller, limit: 1_000 })) ?? [];
      for (const period of periods.toSorted((one, other) => compareStrings(one.key, other.key))) {
        tables.get("period_balances")?.push([caller, period.key, period.settled, period.held, null, 0]);
      }
    }
    const lines = store === undefined ? [] : await listAudit(store);
    tables.set("caller_audit", lines.map(toAuditRow));
    tables.set("callers", stored.map(toCallerRow));
    tables.set("caller_keys", toKeyRows(stored));
    for (const table of TABLES) await writer.write(table, tables.get(table.name) ?? []);
    await writer.end((await store?.lookUp([]))?.revision ?? 0);
  } catch (error) {
    await writer.close();
    throw error;
  }
  await rename(part, path);
}

const PAGE = 1_000;

async function listCallers(store: CallerStore): Promise<StoredCaller[]> {
  const callers: StoredCaller[] = [];
  for (;;) {
    const page = await store.list({ limit: PAGE, after: callers.at(-1)?.id });
    callers.push(...page);
    if (page.length < PAGE) return callers;
  }
}

/** The lines about changes, the oldest first. */
async function listAudit(store: CallerStore): Promise<CallerAuditLine[]> {
  const lines: CallerAuditLine[] = [];
  for (;;) {
    const page = await store.audit({ limit: PAGE, before: lines.at(-1)?.sequence });
    lines.push(...page);
    if (page.length < PAGE) return lines.toReversed();
  }
}

/** The counts of an hour, a caller, a model and a channel. */
interface CountedHour {
  /** Milliseconds since 1970. */
  readonly hour: number;
  readonly caller: string;
  readonly model: string;
  readonly channel: string;
  /** Sorts the totals of an hour. */
  readonly name: string;
  readonly counts: GrowingCounts;
}

const HOUR_MS = 3_600_000;

function count(hours: Map<string, CountedHour>, record: UsageRecord): void {
  const { caller, model } = record;
  const channel = channelOf(record);
  const hour = Math.floor(Date.parse(record.time) / HOUR_MS) * HOUR_MS;
  const name = [caller, model, channel].join("\0");
  const key = `${hour} ${name}`;
  const known = hours.get(key) ?? { hour, caller, model, channel, name, counts: createCounts() };
  hours.set(key, known);
  countRecord(known.counts, { ...record, cost: costOf(record) }, readFacts(record));
}

const channelOf = (record: UsageRecord): string => (record.state === "settled" ? record.channel : "");

const costOf = (record: UsageRecord): string | null =>
  record.state === "settled" ? (record.cost ?? null) : null;

function toHourRow({ hour, caller, model, channel, counts }: CountedHour): TableRow {
  const { requests, refused, failed, unresolved, released, images, charge, tokens, durationMs, durations } =
    counts;
  const zero = readDecimal(null);
  const costs = counts.costs ?? { requests: 0, charge: zero, cost: zero };
  const names: Value[] = [hour, caller, model, channel];
  const outcomes = [requests, refused, failed, unresolved, released, images];
  const sums = [costs.requests, formatDecimal(costs.cost), formatDecimal(costs.charge)];
  return [...names, ...outcomes, formatDecimal(charge), tokens, durationMs, ...durations, ...sums];
}

function toRecordRow(record: UsageRecord): TableRow {
  const { id, state, caller, model, images, charge } = record;
  const { outcome, durationMs, tokens } = readFacts(record);
  const time = Date.parse(record.time);
  const facts: Value[] = [outcome, durationMs, tokens, costOf(record)];
  return [
    id,
    state,
    time,
    caller,
    model,
    channelOf(record),
    images,
    charge,
    record.period ?? null,
    JSON.stringify(record),
    ...facts,
  ];
}

const toAuditRow = ({ time, by, action, caller, details }: CallerAuditLine): TableRow => [
  time,
  by,
  action,
  caller,
  details,
];

const toCallerRow = (caller: StoredCaller): TableRow => [
  caller.id,
  caller.settings,
  caller.createdAt,
  caller.changedAt,
  caller.revokedAt ?? null,
];

const toKeyRows = (callers: readonly StoredCaller[]): TableRow[] =>
  callers
    .flatMap(({ id, keys }) =>
      keys.map(({ hash, hint, createdAt, endsAt }, place): [string, TableRow] => [
        hash,
        [hash, id, place, hint, createdAt, endsAt ?? null],
      ]),
    )
    .toSorted(([one], [other]) => compareStrings(one, other))
    .map(([, row]) => row);
