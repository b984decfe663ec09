import type {
  Balance,
  LostPolicy,
  SettledRecord,
  TotalsKey,
  UnresolvedRecord,
  UsageRecord,
  UsageTotal,
} from "@calotype/core/billing";
import type { BudgetPeriod, HoldRecord, HoldResult, SettleResult } from "@calotype/core/stores";
import { fromUnits, toUnits } from "./units.ts";

interface Kept {
  readonly record: UsageRecord;
  isDelivered: boolean;
  leasedUntil: number;
}

interface Account {
  readonly caller: string;
  /** The key of a period; absent for all time. */
  readonly key: string | undefined;
  budget: string | undefined;
  alerted: number;
}

/**
 * The simplest implementation of the rules of a ledger: two arrays, from which every result is computed. Shares no
 * code with the ledgers that it is compared with.
 */
export class ReferenceLedger {
  #holds: (HoldRecord & { readonly endsAt: number; readonly key: string | undefined })[] = [];
  #kept: Kept[] = [];
  /** The accounts that holds were made in, over all time and by period. */
  readonly #accounts: Account[] = [];
  /** The alerts in the order in which they were written. */
  readonly alerts: string[] = [];

  hold(hold: HoldRecord, now: number): HoldResult {
    if (this.#holds.some(({ id }) => id === hold.id) || this.find(hold.id) !== undefined) return { ok: true };
    const key = hold.period && keyOfPeriod(hold.period, now);
    const balance = this.balance(hold.caller, key);
    const spent = toUnits(balance.settled) + toUnits(balance.held) + toUnits(hold.amount);
    if (hold.budget !== undefined && spent > toUnits(hold.budget)) return { ok: false, balance };
    this.#holds.push({ ...hold, endsAt: now + hold.ttlMs, key });
    this.#accountOf(hold.caller, undefined).budget = key === undefined ? hold.budget : undefined;
    if (key !== undefined) this.#accountOf(hold.caller, key).budget = hold.budget;
    return { ok: true };
  }

  settle(record: SettledRecord): SettleResult {
    const known = this.find(record.id)?.record;
    if (known?.state === "settled") return { isLate: false };
    const isLate = known !== undefined;
    const period = this.#holds.find(({ id }) => id === record.id)?.key ?? known?.period;
    this.#kept = this.#kept.filter((kept) => kept.record.id !== record.id);
    this.#endHold(record.id);
    this.#keep({ ...record, ...(period !== undefined && { period }), ...(isLate && { late: true }) });
    return { isLate };
  }

  release(id: string): void {
    this.#endHold(id);
    const known = this.find(id)?.record;
    if (known?.state !== "unresolved") return;
    this.#kept = this.#kept.filter((kept) => kept.record.id !== id);
    this.#keep({ ...known, state: "released", charge: known.charge === null ? null : "0" });
  }

  sweep(now: number, onLost: LostPolicy, own: boolean): UnresolvedRecord[] {
    const lost = this.#holds.filter((hold) => own || now >= hold.endsAt);
    return this.sweepOnly(
      lost.map(({ id }) => id),
      onLost,
    );
  }

  /** Ends the holds with these ids as lost. */
  sweepOnly(ids: readonly string[], onLost: LostPolicy): UnresolvedRecord[] {
    const lost = this.#holds.filter(({ id }) => ids.includes(id));
    this.#holds = this.#holds.filter((hold) => !lost.includes(hold));
    const records = lost.map((hold): UnresolvedRecord => {
      const { id, time, caller, group, model, operation, amount, task, key: period } = hold;
      const charge = amount !== null && onLost === "release" ? "0" : amount;
      const facts = { id, time, caller, group, model, operation, ...(task !== undefined && { task }) };
      return {
        ...facts,
        ...(period !== undefined && { period }),
        state: "unresolved",
        images: 0,
        held: amount,
        charge,
      };
    });
    const sorted = records.toSorted(compare);
    for (const record of sorted) this.#keep(record);
    return sorted;
  }

  /** All records that could be taken now. */
  undelivered(now: number): UsageRecord[] {
    return this.#kept
      .filter(({ isDelivered, leasedUntil }) => !isDelivered && now >= leasedUntil)
      .map(({ record }) => record)
      .toSorted(compare);
  }

  lease(records: readonly UsageRecord[], until: number): void {
    for (const kept of this.#versionsOf(records)) kept.leasedUntil = until;
  }

  markDelivered(records: readonly UsageRecord[]): void {
    for (const kept of this.#versionsOf(records)) kept.isDelivered = true;
  }

  /** The balance over all time, or of a period. */
  balance(caller: string, key?: string): Balance {
    const counts = (name: string, period: string | undefined): boolean =>
      name === caller && (key === undefined || period === key);
    return {
      settled: sum(
        this.records()
          .filter((record) => counts(record.caller, record.period))
          .map(({ charge }) => charge),
      ),
      held: sum(this.#holds.filter((hold) => counts(hold.caller, hold.key)).map(({ amount }) => amount)),
    };
  }

  periods(): ({ readonly caller: string; readonly key: string } & Balance)[] {
    return this.#accounts
      .flatMap(({ caller, key }) =>
        key === undefined ? [] : [{ caller, key, ...this.balance(caller, key) }],
      )
      .toSorted((one, other) =>
        one.key === other.key ? (one.caller < other.caller ? -1 : 1) : one.key < other.key ? 1 : -1,
      );
  }

  records(): UsageRecord[] {
    return this.#kept.map(({ record }) => record).toSorted(compare);
  }

  totals(by: TotalsKey): UsageTotal[] {
    const keys = [...new Set(this.records().map((record) => keyOf(record, by)))].toSorted();
    return keys.map((key) => {
      const group = this.records().filter((record) => keyOf(record, by) === key);
      return {
        key,
        requests: group.length,
        images: group.reduce((images, record) => images + record.images, 0),
        charge: sum(group.map(({ charge }) => charge)),
        ...toCosts(group),
        unresolved: group.filter(({ state }) => state === "unresolved").length,
      };
    });
  }

  /** The totals of each channel that has records. */
  usage(): object[] {
    const records = this.records();
    const keys = new Set(records.map((record) => keyOf(record, "channel")));
    return [...keys].toSorted().map((key) => {
      const found = records.filter((record) => keyOf(record, "channel") === key);
      const settled = found.filter((record) => record.state === "settled");
      const times = settled.filter(({ status }) => status === 200).map(({ durationMs }) => durationMs);
      const total = times.reduce((sumOfTimes, time) => sumOfTimes + time, 0);
      return {
        key,
        requests: found.length,
        succeeded: times.length,
        refused: settled.filter(({ status }) => status === 400).length,
        failed: settled.filter(({ status }) => status === 502).length,
        unresolved: found.filter(({ state }) => state === "unresolved").length,
        released: found.filter(({ state }) => state === "released").length,
        images: found.reduce((images, record) => images + record.images, 0),
        charge: sum(found.map(({ charge }) => charge)),
        ...toCosts(found),
        tokens: settled.length * 16_384,
        ...(times.length > 0 && { meanMs: Math.round(total / times.length) }),
      };
    });
  }

  find(id: string): Kept | undefined {
    return this.#kept.find(({ record }) => record.id === id);
  }

  #endHold(id: string): void {
    this.#holds = this.#holds.filter((hold) => hold.id !== id);
  }

  #keep(record: UsageRecord): void {
    this.#kept.push({ record, isDelivered: false, leasedUntil: 0 });
    if (toUnits(record.charge) === 0n) return;
    this.#alert(this.#accountOf(record.caller, undefined));
    if (record.period !== undefined) this.#alert(this.#accountOf(record.caller, record.period));
  }

  #alert(account: Account): void {
    const { caller, key, budget } = account;
    const { settled } = this.balance(caller, key);
    for (const threshold of [50, 80, 100]) {
      if (budget === undefined || toUnits(budget) === 0n || account.alerted >= threshold) continue;
      if (toUnits(settled) * 100n < toUnits(budget) * BigInt(threshold)) continue;
      account.alerted = threshold;
      this.alerts.push([caller, key ?? "total", threshold, fromUnits(toUnits(budget)), settled].join(" | "));
    }
  }

  #accountOf(caller: string, key: string | undefined): Account {
    const known = this.#accounts.find((account) => account.caller === caller && account.key === key);
    if (known !== undefined) return known;
    const account: Account = { caller, key, budget: undefined, alerted: 0 };
    this.#accounts.push(account);
    return account;
  }

  #versionsOf(records: readonly UsageRecord[]): Kept[] {
    return this.#kept.filter(({ record }) =>
      records.some(({ id, state }) => id === record.id && state === record.state),
    );
  }
}

const sum = (amounts: readonly (string | null)[]): string =>
  fromUnits(amounts.reduce((units, amount) => units + toUnits(amount), 0n));

// The times and ids of the tests are ASCII with one format, so they can be compared as strings.
const placeOf = ({ time, id }: UsageRecord): string => `${time} ${id}`;
const compare = (one: UsageRecord, other: UsageRecord): number => (placeOf(one) < placeOf(other) ? -1 : 1);

function keyOf(record: UsageRecord, by: TotalsKey): string {
  if (by === "day") return record.time.split("T")[0] ?? "";
  if (by === "channel") return record.state === "settled" ? record.channel : "";
  if (by === "period") return record.period ?? "";
  if (by !== "caller" && by !== "model")
    throw new TypeError(`The tests of totals by ${by} compute them by hand.`);
  return record[by];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Only for time zones without daylight saving time. */
function keyOfPeriod({ unit, timeZone }: BudgetPeriod, now: number): string {
  const date = new Date(now + (timeZone === "UTC" ? 0 : 12 * HOUR_MS));
  const daysAfterMonday = [6, 0, 1, 2, 3, 4, 5][date.getUTCDay()] ?? 0;
  const monday = new Date(date.getTime() - daysAfterMonday * DAY_MS);
  const first = (unit === "week" ? monday : date).toISOString().slice(0, unit === "month" ? 7 : 10);
  return `${first}${unit === "month" ? "-01" : ""} ${unit} ${timeZone}`;
}

/** The sums of the records whose cost is known. */
function toCosts(records: readonly UsageRecord[]): Pick<UsageTotal, "costs"> {
  const known = records
    .filter((record) => record.state === "settled")
    .filter(({ cost }) => cost !== undefined);
  if (known.length === 0) return {};
  const charge = sum(known.map((record) => record.charge));
  const cost = sum(known.map((record) => record.cost ?? null));
  const difference = toUnits(charge) - toUnits(cost);
  const margin = difference < 0n ? `-${fromUnits(-difference)}` : fromUnits(difference);
  return { costs: { requests: known.length, charge, cost, margin } };
}
