import type {
  Balance,
  LostPolicy,
  SettledRecord,
  TotalsKey,
  UnresolvedRecord,
  UsageRecord,
  UsageTotal,
} from "@calotype/core/billing";
import type { HoldRecord, HoldResult } from "@calotype/core/stores";
import { fromUnits, toUnits } from "./units.ts";

interface Kept {
  readonly record: UsageRecord;
  isDelivered: boolean;
  leasedUntil: number;
}

/**
 * The simplest implementation of the rules of a ledger: two arrays, from which every result is computed. Shares no
 * code with the ledgers that it is compared with.
 */
export class ReferenceLedger {
  #holds: (HoldRecord & { readonly endsAt: number })[] = [];
  #kept: Kept[] = [];

  hold(hold: HoldRecord, now: number): HoldResult {
    if (this.#holds.some(({ id }) => id === hold.id) || this.find(hold.id) !== undefined) return { ok: true };
    const balance = this.balance(hold.caller);
    const spent = toUnits(balance.settled) + toUnits(balance.held) + toUnits(hold.amount);
    if (hold.budget !== undefined && spent > toUnits(hold.budget)) return { ok: false, balance };
    this.#holds.push({ ...hold, endsAt: now + hold.ttlMs });
    return { ok: true };
  }

  settle(record: SettledRecord): void {
    if (this.find(record.id)?.record.state === "settled") return;
    this.#kept = this.#kept.filter((kept) => kept.record.id !== record.id);
    this.#endHold(record.id);
    this.#keep(record);
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
    this.#holds = this.#holds.filter((hold) => !lost.includes(hold));
    const records = lost.map(({ id, time, caller, group, model, operation, amount }): UnresolvedRecord => {
      const charge = amount !== null && onLost === "release" ? "0" : amount;
      const facts = { id, time, caller, group, model, operation };
      return { ...facts, state: "unresolved", images: 0, held: amount, charge };
    });
    for (const record of records) this.#keep(record);
    return records.toSorted(compare);
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

  balance(caller: string): Balance {
    return {
      settled: sum(
        this.records()
          .filter((record) => record.caller === caller)
          .map(({ charge }) => charge),
      ),
      held: sum(this.#holds.filter((hold) => hold.caller === caller).map(({ amount }) => amount)),
    };
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
        unresolved: group.filter(({ state }) => state === "unresolved").length,
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
  return record[by];
}
