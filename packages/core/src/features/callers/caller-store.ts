import type { LedgerAbility } from "../../billing/ledger-ability.js";
import { checkName, checkOpaque } from "../../billing/stored-entries.js";
import type { Ledger } from "../usage/usage-reports.js";

/** A key of a stored caller. The key itself is not kept anywhere. */
export interface StoredKey {
  /** The SHA-256 of the key in hexadecimal, see `hashApiKey`. */
  readonly hash: string;
  /** The beginning and the end of the key, by which people recognize it: `cal-…Q5cK`. Not secret. */
  readonly hint: string;
  /** When it was created, in milliseconds since 1970, by the clock of the store. */
  readonly createdAt: number;
  /** From when on it is not valid any more, by the clock of the store. Absent: it does not end. */
  readonly endsAt?: number | undefined;
}

/** A caller that was created at run time. */
export interface StoredCaller {
  readonly id: string;
  /** Its group, limits, budget and so on, as the gateway writes them. Opaque for the store; at most 65,536 characters. */
  readonly settings: string;
  /** In the order in which they were created. Keys that have ended may be missing. A revoked caller has none. */
  readonly keys: readonly StoredKey[];
  /** In milliseconds since 1970, by the clock of the store. */
  readonly createdAt: number;
  readonly changedAt: number;
  /** When all its keys were revoked. Absent: they were not. The id stays taken. */
  readonly revokedAt?: number | undefined;
}

/** A line about one change of a caller. It is never changed and never has a key or a hash. */
export interface CallerAuditLine {
  /** The order of the changes, from 1. Numbers may be missing. */
  readonly sequence: number;
  /** In milliseconds since 1970, by the clock of the store. */
  readonly time: number;
  /** Who made the change, as the program that made it said. */
  readonly by: string;
  readonly action: "create" | "change" | "rotate" | "revoke";
  /** The id of the caller. */
  readonly caller: string;
  /** What changed, as the gateway writes it. Opaque for the store; at most 262,144 characters. */
  readonly details: string;
}

/** A change of a caller, with what its audit line says. */
export interface CallerUpdate {
  /** The new state. `id` and `createdAt` stay, and the store sets `changedAt`. */
  readonly caller: Pick<StoredCaller, "settings" | "keys" | "revokedAt">;
  readonly audit: Pick<CallerAuditLine, "by" | "action" | "details">;
}

/** What {@link CallerStore.lookUp} found. */
export interface CallerLookup {
  /** The number of changes of all callers so far. If it has not changed, no caller has. */
  readonly revision: number;
  /** The time of the store, in milliseconds since 1970. `endsAt` of the keys is compared with it. */
  readonly now: number;
  /** The callers that have one of the hashes, each once. Keys that have ended may be among theirs. */
  readonly callers: readonly StoredCaller[];
}

/** A page of {@link CallerStore.list}. */
export interface CallerPage {
  /** At least 1. */
  readonly limit: number;
  /** Only callers whose id comes after this one. The caller need not exist. */
  readonly after?: string | undefined;
}

/** A page of {@link CallerStore.audit}. */
export interface CallerAuditPage {
  /** At least 1. */
  readonly limit: number;
  /** Only lines of this caller. */
  readonly caller?: string | undefined;
  /** Only lines with a lower `sequence`. */
  readonly before?: number | undefined;
}

/** Tells that a caller changed. Without an id: any may have changed. */
export interface CallerChange {
  readonly id?: string | undefined;
}

/**
 * Keeps callers that are created at run time. The ledgers in memory, of `@calotype/sqlite` and of `@calotype/postgres` have
 * one, as the member `callers`. Every method is atomic. If the store cannot be reached, its methods reject.
 */
export interface CallerStore {
  /**
   * Stores a new caller. Resolves to `undefined` if the id is taken, also by a revoked caller.
   *
   * @param create gets the time of the store. If it throws, nothing is stored, and the call rejects with its error
   * @throws RangeError for an id, settings, keys or details that not every store can keep; the memory store, if it is full
   */
  create(id: string, create: (now: number) => CallerUpdate): Promise<StoredCaller | undefined>;
  /**
   * Changes a caller in one transaction. No other change happens between the reading of the caller and the writing, so no
   * change is lost. Resolves to `undefined` if there is no such caller.
   *
   * @param change gets the caller with all its keys, also those that have ended, and the time of the store. If it throws,
   *   nothing changes, and the call rejects with its error. It may be called again if the transaction is repeated
   */
  change(
    id: string,
    change: (caller: StoredCaller, now: number) => CallerUpdate,
  ): Promise<StoredCaller | undefined>;
  /**
   * Finds callers by the hashes of keys, at most 1,000. The revision is not newer than the callers. With an empty list it
   * only returns the revision and the time. It is called up to fifty times a second, so it must cost little.
   */
  lookUp(hashes: readonly string[]): Promise<CallerLookup>;
  find(id: string): Promise<StoredCaller | undefined>;
  /** Returns callers by id, in the order of the bytes of their ids in UTF-8. */
  list(page: CallerPage): Promise<readonly StoredCaller[]>;
  /** Returns the lines about changes, the newest first. */
  audit(page: CallerAuditPage): Promise<readonly CallerAuditLine[]>;
  /** Removes the lines about changes before a time, in milliseconds since 1970. Resolves to their number. */
  pruneAudit(before: number): Promise<number>;
  /**
   * Calls the listener after changes, by this process and, if the store can tell, by others. Returns the function that ends
   * this. A listener must not throw.
   */
  watch(listener: (change: CallerChange) => void): () => void;
}

/** A ledger that also keeps callers. */
export interface CallerLedger extends Ledger {
  readonly callers: CallerStore;
}

/** Finds the callers of a ledger that are created at run time. */
export const CALLER_STORE: LedgerAbility<CallerStore> = {
  member: "callers",
  methods: ["create", "change", "lookUp", "find", "list", "audit", "pruneAudit", "watch"],
};

const MAX_CALLER_SETTINGS = 65_536;
const MAX_CALLER_DETAILS = 262_144;
const MAX_CALLER_KEYS = 32;
/** The largest time of a `Date`, in milliseconds since 1970, in the year 9999. */
const MAX_TIME = 253_402_300_799_999;

/**
 * Checks what `CallerStore.create` and `CallerStore.change` write. Every caller store calls this first, so that all stores
 * refuse the same input.
 *
 * @throws RangeError that names the field
 */
export function checkCallerUpdate(id: string, { caller, audit }: CallerUpdate): void {
  checkStoredCallerId(id);
  checkOpaque(caller.settings, "settings", MAX_CALLER_SETTINGS);
  if (caller.keys.length > MAX_CALLER_KEYS) {
    throw new RangeError(`a caller has at most ${MAX_CALLER_KEYS} keys, not ${caller.keys.length}`);
  }
  for (const { hash, hint, createdAt, endsAt } of caller.keys) {
    if (!/^[\da-f]{64}$/.test(hash)) throw new RangeError("hash must be 64 hexadecimal digits in lower case");
    checkName(hint, "hint");
    checkTime(createdAt, "createdAt");
    if (endsAt !== undefined) checkTime(endsAt, "endsAt");
  }
  if (caller.revokedAt !== undefined) checkTime(caller.revokedAt, "revokedAt");
  checkName(audit.by, "by");
  checkOpaque(audit.details, "details", MAX_CALLER_DETAILS);
}

/**
 * Checks the id of a stored caller, for stores that use it before they have the rest.
 *
 * @throws RangeError
 */
export function checkStoredCallerId(id: string): void {
  if (id === "") throw new RangeError("id must not be empty");
  checkName(id, "id");
}

function checkTime(time: number, field: string): void {
  if (Number.isInteger(time) && time >= 0 && time <= MAX_TIME) return;
  throw new RangeError(`${field} must be a time in milliseconds since 1970, not ${time}`);
}
