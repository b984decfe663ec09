import type { LedgerAbility } from "../../billing/ledger-ability.js";
import type { Ledger } from "../usage/usage-reports.js";
import type { Refusal } from "./refusal.js";
import type { RefusalList, StoredRefusalQuery } from "./refusal-list.js";

/**
 * Keeps refusals, so that other processes find them by their ids: `calotype-key`, and the studio of another process. The
 * ledgers of `@calotype/sqlite` and `@calotype/postgres` have one, as the member `refusals`. With another ledger, a process
 * keeps its own refusals in memory.
 */
export interface RefusalStore {
  /**
   * Stores refusals, at most {@link MAX_REFUSAL_BATCH}. One whose id is known is left out. The store keeps the newest
   * {@link MAX_REFUSALS} of all, and the newest {@link MAX_REFUSALS_OF_CALLER} of each caller and of those without a caller.
   */
  add(refusals: readonly Refusal[]): Promise<void>;
  find(id: string): Promise<Refusal | undefined>;
  /** Selects and counts refusals. Absent: each process lists those of its own that are not stored yet. */
  list?(query: StoredRefusalQuery): Promise<RefusalList>;
}

/** The largest number of refusals that {@link RefusalStore.add} gets. */
export const MAX_REFUSAL_BATCH = 100;
/** How many refusals a store keeps. Each has less than 8 KiB. */
export const MAX_REFUSALS = 10_000;
/** How many refusals a store keeps of one caller. */
export const MAX_REFUSALS_OF_CALLER = 1_000;

/** A ledger that also keeps refusals. */
export interface RefusalLedger extends Ledger {
  readonly refusals: RefusalStore;
}

/** Finds the store of refusals of a ledger. */
export const REFUSAL_STORE: LedgerAbility<RefusalStore> = { member: "refusals", methods: ["add", "find"] };

/**
 * Reads a refusal that a store has written as JSON.
 *
 * @throws TypeError if it is not a refusal
 */
export function parseRefusal(json: string): Refusal {
  const value: unknown = JSON.parse(json);
  if (isRefusal(value)) return value;
  throw new TypeError("The ledger's tables are not as they should be: a refusal lacks a field.");
}

function isRefusal(value: unknown): value is Refusal {
  if (typeof value !== "object" || value === null) return false;
  const hasTexts = ["id", "time", "method", "path", "code"].every(
    (name) => typeof Reflect.get(value, name) === "string",
  );
  return hasTexts && typeof Reflect.get(value, "status") === "number";
}
