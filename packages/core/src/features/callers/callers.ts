import { generateApiKey } from "../../auth/api-key.js";
import { PERIOD_NEEDS_STORE, USER_PREFIX } from "../../auth/check-caller.js";
import { hasPeriod } from "../../billing/budget.js";
import { DEFAULT_GROUP } from "../../billing/model-details.js";
import { GatewayError, invalidRequest } from "../../errors.js";
import type { Caller } from "../../types.js";
import { parseInstant } from "../../util/instant.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { isName, NAME_RULE } from "../../util/name.js";
import {
  type CallerPatch,
  type CallerSettings,
  type ChangedField,
  checkCallerId,
  checkCallerSettings,
  compareCallerSettings,
  patchCallerSettings,
  readCallerSettings,
  writeCallerSettings,
} from "./caller-settings.js";
import type { CallerAuditLine, CallerStore, CallerUpdate, StoredCaller, StoredKey } from "./caller-store.js";

/**
 * The callers that are created at run time. The ledger keeps them: that in memory, of `@calotype/sqlite` or of
 * `@calotype/postgres`. A change takes effect within a second on every process that uses the ledger. Requests and tasks that
 * were accepted before go on. Every method but `fixed` rejects with a TypeError if the ledger keeps no callers.
 */
export interface Callers {
  /**
   * Creates a caller with one key. The result has the key; it is not kept and cannot be shown again.
   *
   * @throws GatewayError `caller_exists`, `invalid_request_error` that names the field
   */
  create(caller: Caller, options?: KeyOptions): Promise<CallerWithKey>;
  /** Returns a caller that was created at run time. `undefined` if there is none with this id. */
  find(id: string): Promise<CallerInfo | undefined>;
  /** Returns the callers of the option `callers`, without their keys. They cannot be changed here. */
  fixed(): Promise<readonly Caller[]>;
  /** Returns callers that were created at run time, by id. */
  list(page?: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<CallerList>;
  /**
   * Changes fields of a caller. The other fields stay, also if several processes change a caller at the same time.
   *
   * @throws GatewayError `caller_not_found`, `caller_revoked`, `invalid_request_error` that names the field
   */
  change(id: string, changes: CallerPatch, options?: ChangeOptions): Promise<CallerInfo>;
  /**
   * Creates another key of a caller. The keys before it end after `overlapSeconds`, unless they end earlier.
   *
   * @throws GatewayError `caller_not_found`, `caller_revoked`, `invalid_request_error`
   */
  rotate(id: string, options?: RotateOptions): Promise<CallerWithKey>;
  /**
   * Ends all keys of a caller. Its id stays taken, because its charges and its budget are counted under it.
   *
   * @throws GatewayError `caller_not_found`
   */
  revoke(id: string, options?: ChangeOptions): Promise<CallerInfo>;
  /** Returns the lines about changes, the newest first. */
  audit(page?: {
    readonly limit?: number | undefined;
    readonly caller?: string | undefined;
    readonly before?: number | undefined;
  }): Promise<readonly CallerAuditEntry[]>;
  /**
   * Removes the lines about changes before a time, ISO 8601 with a zone such as `2025-01-01T00:00:00Z`. Returns their number.
   * Callers do not change.
   *
   * @throws GatewayError `invalid_request_error`; then nothing is removed
   */
  pruneAudit(options: { readonly before: string }): Promise<number>;
}

/** Who makes a change. */
export interface ChangeOptions {
  /** Is written to the audit line: a user, a program. At most 512 bytes. Default `"gateway"`. */
  readonly by?: string | undefined;
}

/** How a key is created. */
export interface KeyOptions extends ChangeOptions {
  /** The beginning of the key, see `generateApiKey`. Default `"cal-"`. */
  readonly prefix?: string | undefined;
}

/** How a key is replaced. */
export interface RotateOptions extends KeyOptions {
  /** How long the keys before the new one stay valid, in seconds: 0 to 31,536,000, a year. Default 86,400, a day. */
  readonly overlapSeconds?: number | undefined;
}

/** A caller that was created at run time. Times are ISO 8601. */
export interface CallerInfo extends Caller {
  /** `damaged`: its entry in the ledger cannot be read, see `problem`. Its requests get a 500. */
  readonly state: "active" | "revoked" | "damaged";
  /** The keys that have not ended, the oldest first. */
  readonly keys: readonly CallerKey[];
  /** When it was created, ISO 8601 in UTC. */
  readonly createdAt: string;
  /** When it was created or changed last, ISO 8601 in UTC. */
  readonly changedAt: string;
  /** When it was revoked, ISO 8601 in UTC. Absent: it was not. */
  readonly revokedAt?: string;
  /** Why the entry cannot be read. */
  readonly problem?: string;
}

/** A key of a caller, without the key itself and its hash. */
export interface CallerKey {
  /** Its beginning and its end: `cal-…Q5cK`. */
  readonly hint: string;
  /** When it was created, ISO 8601 in UTC. */
  readonly createdAt: string;
  /** When it ends, because there is a newer one. */
  readonly endsAt?: string;
}

/** A caller and its new key. */
export interface CallerWithKey {
  /** The caller, as it is now. */
  readonly caller: CallerInfo;
  /** The key, for the caller only. */
  readonly key: string;
}

/** A page of callers. */
export interface CallerList {
  /** The callers of this page. */
  readonly callers: readonly CallerInfo[];
  /** `after` of the next page. Absent on the last page. */
  readonly next?: string;
}

/** What was changed, when and by whom. */
export interface CallerAuditEntry extends Pick<CallerAuditLine, "sequence" | "by" | "action" | "caller"> {
  /** ISO 8601. */
  readonly time: string;
  /** The fields that changed, with their old and new values. */
  readonly fields: readonly ChangedField[];
}

/** What the options of a gateway allow for stored callers. */
export interface StoredCallerRules {
  /** The ids of the option `callers`, which stored callers must not have. */
  readonly fixedIds: ReadonlySet<string>;
  /** The callers of the option `callers`, without their keys. */
  readonly fixed: readonly Caller[];
  /** The groups that have prices. `undefined` without `billing`. */
  readonly groups: ReadonlySet<string> | undefined;
  /** Whether the ledger counts by period. */
  readonly canKeepPeriods: boolean;
}

/** What {@link createCallers} needs. */
export interface CallersParts {
  /** `undefined` if the ledger keeps no callers. */
  readonly store: CallerStore | undefined;
  /** Returns what the options allow. Absent: the options are not known. */
  readonly loadRules?: (() => Promise<StoredCallerRules>) | undefined;
  /** Called with the id of a caller that was changed. */
  readonly onChange?: ((id: string) => void) | undefined;
}

const DEFAULT_OVERLAP_SECONDS = 86_400;
const MAX_OVERLAP_SECONDS = 31_536_000;
/** The maximum number of keys of a caller that have not ended. */
const MAX_KEYS = 10;
const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

/** Creates the management of callers over a store. */
export function createCallers(parts: CallersParts): Callers {
  const { loadRules, onChange = () => {} } = parts;
  const open = (): CallerStore => {
    if (parts.store !== undefined) return parts.store;
    throw new TypeError(
      "The ledger of this gateway keeps no callers. The ledgers in memory, of @calotype/sqlite and of @calotype/postgres do.",
    );
  };
  const update = async (
    id: string,
    change: (caller: StoredCaller, now: number) => CallerUpdate,
  ): Promise<StoredCaller> => {
    const changed = await open().change(checkCallerId(id), change);
    if (changed === undefined) throw notFound(id);
    onChange(id);
    return changed;
  };

  return {
    async create(caller, { by = DEFAULT_BY, prefix } = {}) {
      const store = open();
      checkBy(by);
      const { id, ...given } = isJsonObject(caller) ? caller : invalidCaller();
      const settings = checkCallerSettings(given);
      checkCallerId(id);
      const rules = await loadRules?.();
      if (id.startsWith(USER_PREFIX))
        throw exists(id, `begins with ${USER_PREFIX}, as those of signed-in users`);
      if (rules?.fixedIds.has(id)) throw exists(id, "is in the option callers");
      checkAgainstOptions(settings, rules);
      const { key, createKey } = prepareKey(prefix);
      const fields = compareCallerSettings({}, settings);
      const created = await store.create(id, (now) => ({
        caller: { settings: writeCallerSettings(settings), keys: [createKey(now)] },
        audit: { by, action: "create", details: writeDetails(fields) },
      }));
      if (created === undefined) throw exists(id, "exists already or was revoked");
      return { caller: describeCaller(created), key };
    },
    async find(id) {
      const found = await open().find(checkCallerId(id));
      return found && describeCaller(found);
    },
    fixed: async () => (await loadRules?.())?.fixed ?? [],
    async list({ limit = DEFAULT_PAGE, after } = {}) {
      checkPage(limit);
      if (after !== undefined) checkCallerId(after, "after");
      // One more tells whether there is another page.
      const found = await open().list({ limit: limit + 1, after });
      const callers = found.slice(0, limit).map(describeCaller);
      const last = callers.at(-1);
      return { callers, ...(found.length > limit && last !== undefined && { next: last.id }) };
    },
    async change(id, changes, { by = DEFAULT_BY } = {}) {
      checkBy(by);
      // Checked before the transaction, which begins with the store's own work.
      patchCallerSettings({}, changes);
      const rules = await loadRules?.();
      const changed = await update(id, (caller, now) => {
        checkNotRevoked(caller);
        const before = readSettings(caller);
        const settings = patchCallerSettings(before, changes);
        checkAgainstOptions(settings, rules);
        const fields = compareCallerSettings(before, settings);
        return {
          caller: { settings: writeCallerSettings(settings), keys: validKeys(caller, now) },
          audit: { by, action: "change", details: writeDetails(fields) },
        };
      });
      return describeCaller(changed);
    },
    async rotate(id, { overlapSeconds = DEFAULT_OVERLAP_SECONDS, by = DEFAULT_BY, prefix } = {}) {
      checkBy(by);
      if (!(overlapSeconds >= 0 && overlapSeconds <= MAX_OVERLAP_SECONDS)) {
        throw invalidRequest(
          `overlapSeconds must be a number from 0 to ${MAX_OVERLAP_SECONDS}, a year.`,
          "overlapSeconds",
        );
      }
      const { key, createKey } = prepareKey(prefix);
      const rotated = await update(id, (caller, now) => {
        checkNotRevoked(caller);
        const before = validKeys(caller, now);
        const end = now + Math.ceil(overlapSeconds * 1000);
        const old = before
          .map((other) => ({ ...other, endsAt: Math.min(other.endsAt ?? Infinity, end) }))
          .filter(({ endsAt }) => endsAt > now);
        if (old.length >= MAX_KEYS) {
          throw invalidRequest(
            `The caller has ${old.length} keys that have not ended. With overlapSeconds: 0 they end at once.`,
            "overlapSeconds",
          );
        }
        const keys = [...old, createKey(now)];
        return {
          caller: { settings: caller.settings, keys },
          audit: { by, action: "rotate", details: writeDetails(compareKeys(before, keys)) },
        };
      });
      return { caller: describeCaller(rotated), key };
    },
    async revoke(id, { by = DEFAULT_BY } = {}) {
      checkBy(by);
      const revoked = await update(id, (caller, now) => ({
        caller: { settings: caller.settings, keys: [], revokedAt: caller.revokedAt ?? now },
        audit: { by, action: "revoke", details: writeDetails(compareKeys(validKeys(caller, now), [])) },
      }));
      return describeCaller(revoked);
    },
    async audit({ limit = DEFAULT_PAGE, caller, before } = {}) {
      checkPage(limit);
      if (caller !== undefined) checkCallerId(caller, "caller");
      if (before !== undefined && !Number.isSafeInteger(before)) {
        throw invalidRequest("before must be the sequence of a line.", "before");
      }
      return (await open().audit({ limit, caller, before })).map(describeLine);
    },
    async pruneAudit({ before }) {
      const instant = parseInstant(before);
      if (instant === undefined) throw invalidRequest(BEFORE_RULE, "before");
      return await open().pruneAudit(instant);
    },
  };
}

const DEFAULT_BY = "gateway";
const BEFORE_RULE = "before must be a time with a zone, such as 2025-01-01T00:00:00Z.";

/** @throws GatewayError if the options of the gateway would make the settings useless */
function checkAgainstOptions(
  { group = DEFAULT_GROUP, budget }: CallerSettings,
  rules: StoredCallerRules | undefined,
): void {
  if (rules === undefined) return;
  const { groups, canKeepPeriods } = rules;
  if (!canKeepPeriods && hasPeriod(budget)) {
    throw invalidRequest(`budget.period ${PERIOD_NEEDS_STORE}.`, "budget.period");
  }
  if (groups === undefined && budget !== undefined) {
    throw invalidRequest(
      "budget needs the option billing: without prices nothing is charged, so the budget would have no effect.",
      "budget",
    );
  }
  if (groups?.has(group) === false) {
    throw invalidRequest(`group is not a group of billing.group_ratio: ${JSON.stringify(group)}.`, "group");
  }
}

function checkBy(by: unknown): void {
  if (by === "" || !isName(by)) throw invalidRequest(`by must be ${NAME_RULE}.`, "by");
}

function checkPage(limit: unknown): void {
  if (Number.isInteger(limit) && Number(limit) >= 1 && Number(limit) <= MAX_PAGE) return;
  throw invalidRequest(`limit must be a whole number from 1 to ${MAX_PAGE}.`, "limit");
}

function checkNotRevoked({ id, revokedAt }: StoredCaller): void {
  if (revokedAt === undefined) return;
  throw new GatewayError(
    "caller_revoked",
    `The caller ${JSON.stringify(id)} was revoked: create another one.`,
  );
}

function readSettings({ id, settings }: StoredCaller): CallerSettings {
  try {
    return readCallerSettings(settings);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `The caller ${JSON.stringify(id)} cannot be changed: ${reason}.`;
    throw new GatewayError("invalid_request_error", message, { status: 409, cause: error });
  }
}

/** A new key, and what the store keeps of it. */
function prepareKey(prefix: string | undefined): {
  readonly key: string;
  readonly createKey: (now: number) => StoredKey;
} {
  const { key, hash } = createKeyOrRefuse(prefix);
  const shownPrefix = (prefix ?? "cal-").slice(0, MAX_SHOWN_PREFIX);
  const hint = `${shownPrefix}…${key.slice(-4)}`;
  return { key, createKey: (createdAt) => ({ hash, hint, createdAt }) };
}

const MAX_SHOWN_PREFIX = 32;

function createKeyOrRefuse(prefix: string | undefined): ReturnType<typeof generateApiKey> {
  try {
    return generateApiKey(prefix === undefined ? {} : { prefix });
  } catch (error) {
    throw invalidRequest(error instanceof Error ? error.message : String(error), "prefix");
  }
}

function validKeys({ keys }: StoredCaller, now: number): readonly StoredKey[] {
  return keys.filter(({ endsAt }) => endsAt === undefined || endsAt > now);
}

const hintsOf = (keys: readonly StoredKey[]): readonly string[] => keys.map(({ hint }) => hint);

function compareKeys(from: readonly StoredKey[], to: readonly StoredKey[]): readonly ChangedField[] {
  return [{ field: "keys", from: hintsOf(from), to: hintsOf(to) }];
}

function describeCaller({ id, settings, keys, revokedAt, ...times }: StoredCaller): CallerInfo {
  const { fields, problem } = tryToRead(settings);
  const isRevoked = revokedAt !== undefined;
  return {
    id,
    state: isRevoked ? "revoked" : problem === undefined ? "active" : "damaged",
    ...fields,
    ...(problem !== undefined && { problem }),
    keys: keys
      .filter(({ endsAt }) => endsAt === undefined || endsAt > Date.now())
      .map(({ hint, createdAt, endsAt }) => ({
        hint,
        createdAt: toIso(createdAt),
        ...(endsAt !== undefined && { endsAt: toIso(endsAt) }),
      })),
    createdAt: toIso(times.createdAt),
    changedAt: toIso(times.changedAt),
    ...(isRevoked && { revokedAt: toIso(revokedAt) }),
  };
}

function tryToRead(settings: string): { readonly fields?: CallerSettings; readonly problem?: string } {
  try {
    return { fields: readCallerSettings(settings) };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

function describeLine({ time, details, sequence, by, action, caller }: CallerAuditLine): CallerAuditEntry {
  return { sequence, time: toIso(time), by, action, caller, fields: readDetails(details) };
}

function writeDetails(fields: readonly ChangedField[]): string {
  return JSON.stringify({ fields });
}

/** A line that cannot be read shows no fields, so that the others can be shown. */
function readDetails(details: string): readonly ChangedField[] {
  let read: unknown;
  try {
    read = JSON.parse(details);
  } catch {
    return [];
  }
  const fields = isJsonObject(read) ? read["fields"] : undefined;
  return Array.isArray(fields) ? fields.filter(isChangedField) : [];
}

function isChangedField(value: unknown): value is ChangedField & JsonObject {
  return isJsonObject(value) && typeof value["field"] === "string";
}

function toIso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function invalidCaller(): never {
  throw invalidRequest("The caller must be an object with id.");
}

function notFound(id: string): GatewayError {
  return new GatewayError(
    "caller_not_found",
    `There is no caller with the id ${JSON.stringify(id)} that was created at run time.`,
  );
}

function exists(id: string, reason: string): GatewayError {
  return new GatewayError("caller_exists", `The id ${JSON.stringify(id)} ${reason}: choose another id.`, {
    param: "id",
  });
}
