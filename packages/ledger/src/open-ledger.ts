import { existsSync } from "node:fs";
import { LedgerCommandError } from "./copy-ledger.js";
import { openDumpSource, openDumpTarget } from "./dump-file.js";
import { isPostgres } from "./postgres-address.js";
import { openPostgresTables, type PostgresAccess } from "./postgres-tables.js";
import { openSqliteTables, type SqliteAccess } from "./sqlite-tables.js";
import type { LiveTables, SourceTables, TargetTables } from "./tables.js";

/** Where a ledger is: the path of an SQLite file, of a dump (it ends with `.jsonl`), or the URL of a PostgreSQL database. */
export interface LedgerAddress {
  readonly ledger: string;
  /** The schema on PostgreSQL. Default `"calotype"`. */
  readonly schema?: string | undefined;
}

const isDump = (address: string): boolean => address.endsWith(".jsonl");

/** The schema of an address. */
export const schemaOf = ({ schema = "calotype" }: LedgerAddress): string => schema;

/** An open database, with what the commands for its kind need. */
export type OpenedDatabase =
  | { readonly kind: "sqlite"; readonly tables: LiveTables & SqliteAccess }
  | { readonly kind: "postgres"; readonly tables: LiveTables & PostgresAccess };

/**
 * Opens the database of a ledger.
 *
 * @throws LedgerCommandError or Error with the reason, without a password
 */
export async function openDatabaseOf(address: LedgerAddress, mayCreate: boolean): Promise<OpenedDatabase> {
  const { ledger } = address;
  if (isPostgres(ledger)) {
    return {
      kind: "postgres",
      tables: await openPostgresTables({ url: ledger, schema: schemaOf(address), mayCreate }),
    };
  }
  checkPath(ledger);
  if (isDump(ledger))
    throw new LedgerCommandError("A dump has no gateway: name an SQLite file or a PostgreSQL database.");
  if (!mayCreate && !existsSync(ledger))
    throw new LedgerCommandError(`There is no file ${JSON.stringify(ledger)}.`);
  return { kind: "sqlite", tables: openSqliteTables({ path: ledger, mayCreate }) };
}

/** Opens a ledger to copy from. A database must have the tables of this version. */
export async function openSource(address: LedgerAddress): Promise<SourceTables> {
  if (isDump(address.ledger)) return await openDumpSource(address.ledger);
  return (await openDatabaseOf(address, false)).tables;
}

/** Opens a ledger to copy into. Its tables are created. */
export async function openTarget(address: LedgerAddress): Promise<TargetTables> {
  if (isDump(address.ledger)) return await openDumpTarget(address.ledger);
  return (await openDatabaseOf(address, true)).tables;
}

function checkPath(path: string): void {
  if (path === ":memory:") {
    throw new LedgerCommandError(
      "The ledger :memory: is in the memory of its process: its process can write a dump, see writeLedgerDump.",
    );
  }
  if (/^[a-z][a-z\d+.-]+:\/\//i.test(path)) {
    throw new LedgerCommandError(
      "A ledger must be the path of an SQLite file or of a dump (.jsonl), or begin with postgres://.",
    );
  }
}
