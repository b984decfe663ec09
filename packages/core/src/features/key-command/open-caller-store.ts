import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findAbility, type LedgerAbility } from "../../billing/ledger-ability.js";
import { isJsonObject } from "../../util/json.js";
import { CALLER_STORE, type CallerStore } from "../callers/caller-store.js";
import { REFUSAL_STORE, type RefusalStore } from "../refusals/refusal-store.js";
import type { UsageHistory } from "../usage/usage-history.js";
import type { UsageReports } from "../usage/usage-reports.js";

/** Where the callers are, and whether the place may be created. */
export interface LedgerAddress {
  /** The path of an SQLite file, or the URL of a PostgreSQL database. */
  readonly ledger: string;
  /** The schema on PostgreSQL. Default: that of `@calotype/postgres`. */
  readonly schema?: string | undefined;
  readonly mayCreate: boolean;
}

/** An open caller store. */
export interface OpenedCallerStore {
  readonly store: CallerStore;
  /** Without `history`, the ledger is of an older version. */
  readonly usage: Pick<UsageReports, "totals"> & { readonly history?: Pick<UsageHistory, "series" | "find"> };
  /** `undefined`: the ledger keeps no refused requests. */
  readonly refusals: RefusalStore | undefined;
  readonly close: () => Promise<void>;
}

/** Thrown with a message for the user of the command. */
export class LedgerError extends Error {
  override readonly name = "LedgerError";
}

/**
 * Opens the callers of a ledger. Imports `@calotype/sqlite` or `@calotype/postgres` from the project in the current folder,
 * because this package does not depend on them.
 *
 * @throws LedgerError without the address of a database, which may contain a password
 */
export async function openCallerStore(address: LedgerAddress): Promise<OpenedCallerStore> {
  return /^postgres(?:ql)?:\/\//i.test(address.ledger) ? openPostgres(address) : openSqlite(address);
}

async function openSqlite({ ledger: path, mayCreate }: LedgerAddress): Promise<OpenedCallerStore> {
  if (path === ":memory:") {
    throw new LedgerError(
      "The ledger :memory: ends with this command: name a file or a PostgreSQL database.",
    );
  }
  if (/^[a-z][a-z\d+.-]+:\/\//i.test(path)) {
    throw new LedgerError("The ledger must be the path of an SQLite file, or begin with postgres://.");
  }
  if (!mayCreate && !existsSync(path)) {
    throw new LedgerError(
      `There is no file ${JSON.stringify(path)}: the gateway, or the command create, creates it.`,
    );
  }
  const create = await importFunction("@calotype/sqlite", "createSqliteLedger");
  const ledger: unknown = Reflect.apply(create, undefined, [{ path, migrate: mayCreate }]);
  return toOpened(ledger);
}

async function openPostgres({
  ledger: connectionString,
  schema,
  mayCreate,
}: LedgerAddress): Promise<OpenedCallerStore> {
  const create = await importFunction("@calotype/postgres", "createPostgresLedger");
  const Pool = await importFunction("pg", "Pool");
  const pool: unknown = Reflect.construct(Pool, [
    { connectionString, max: 2, connectionTimeoutMillis: CONNECT_MS },
  ]);
  const ledger: unknown = Reflect.apply(create, undefined, [{ pool, schema, migrate: mayCreate }]);
  return toOpened(ledger, async () => await callMethod(pool, "end"));
}

const CONNECT_MS = 10_000;

const TOTALS: LedgerAbility<OpenedCallerStore["usage"]> = { methods: ["totals"] };

function toOpened(created: unknown, closePool = async (): Promise<void> => {}): OpenedCallerStore {
  const ledger = isJsonObject(created) ? created : {};
  const store = findAbility(ledger, CALLER_STORE);
  const usage = findAbility(ledger, TOTALS);
  if (usage === undefined || store === undefined) {
    throw new LedgerError(
      "The installed ledger keeps no callers: update all packages of calotype to one version.",
    );
  }
  return {
    store,
    usage,
    refusals: findAbility(ledger, REFUSAL_STORE),
    close: async () => {
      try {
        await callMethod(ledger, "close");
      } finally {
        await closePool();
      }
    },
  };
}

/** Calls a method without parameters of an object of an imported package, which has no types here. */
async function callMethod(of: unknown, name: string): Promise<void> {
  const method: unknown = typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
  if (typeof method === "function") await Reflect.apply(method, of, []);
}

// Any function: its types are in a package that this one does not depend on.
type AnyFunction = (...given: never[]) => unknown;

async function importFunction(name: string, member: string): Promise<AnyFunction> {
  const imported: unknown = await import(resolve(name));
  const members = isJsonObject(imported) ? imported : {};
  // `pg` is a CommonJS module.
  const value =
    members[member] ?? (isJsonObject(members["default"]) ? members["default"][member] : undefined);
  if (isFunction(value)) return value;
  throw new LedgerError(`The installed package ${name} has no ${member}: update it.`);
}

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === "function";
}

/** Finds a package of the current project, or beside this one. */
function resolve(name: string): string {
  for (const from of [pathToFileURL(join(process.cwd(), "package.json")), import.meta.url]) {
    try {
      return pathToFileURL(createRequire(from).resolve(name)).href;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  throw new LedgerError(
    `This ledger needs the package ${name}, which is not installed in this folder. Install it (npm install ${name}), or run the command in the folder of the app.`,
  );
}
