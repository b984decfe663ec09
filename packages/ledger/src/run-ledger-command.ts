import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { checkPostgres, checkSqlite } from "./check-databases.js";
import type { CheckResult } from "./check-ledger.js";
import {
  type CopyOptions,
  type CopyResult,
  copyLedger,
  moveCaller,
  undoMove,
  VerificationError,
} from "./copy-ledger.js";
import { type LedgerAddress, openDatabaseOf, openSource, openTarget, schemaOf } from "./open-ledger.js";
import { isPostgres } from "./postgres-address.js";
import { openPool } from "./postgres-tables.js";
import {
  printPostgresMigrations,
  printSqliteMigrations,
  readPostgresFormat,
  readSqliteFormat,
} from "./print-migrations.js";
import { prunePostgres, pruneSqlite } from "./prune-ledger.js";

/** The parts of the process that the command uses. */
export interface LedgerCommandHost {
  /** Writes to stdout. */
  write(text: string): void;
  /** Writes to stderr. */
  complain(text: string): void;
  /** The variables of the process and of the file `.env`. */
  readEnv(): Readonly<Record<string, string | undefined>>;
  /** How often the progress of a copy is written, in milliseconds. */
  readonly progressMs: number;
}

const HELP = `The ledger of a calotype gateway.

  calotype-ledger copy --from LEDGER --to LEDGER [--wait SECONDS] [--drop-messages]
      copies everything into an empty ledger, while no gateway uses either of them, and compares the sums.
      After an interruption, run it again.
  calotype-ledger copy --from LEDGER --to LEDGER --caller ID [--caller ID] [--wait SECONDS] [--replace]
      moves callers between two databases in use. Both refuse their requests meanwhile with a 503; at the end the
      target takes them. --replace removes what an earlier move away from the target has left there.
  calotype-ledger copy --from LEDGER --to LEDGER --caller ID --undo
      gives up a move that was interrupted.
  calotype-ledger check [--ledger LEDGER]
      computes balances and totals again, and says what differs.
  calotype-ledger migrations --print [--ledger LEDGER | --for sqlite|postgres]
      writes the SQL of the steps that the ledger lacks, or of all steps.
  calotype-ledger prune [--ledger LEDGER] --before TIME [--undelivered]
      removes records of requests before a time such as 2026-01-31T00:00:00Z; with --undelivered also those that onUsage
      did not get. Balances and totals stay.

LEDGER is the path of an SQLite file, the URL postgres://… of a database, or for copy the path of a dump, which ends
with .jsonl. Without --ledger it is CALOTYPE_LEDGER, or DATABASE_URL if that begins with postgres://, also from the file
.env in this folder. --schema NAME is the schema on PostgreSQL, for copy --from-schema and --to-schema; default calotype.
copy and check write JSON with --json.

Exit code: 0 done, 1 refused or failed, 2 wrong arguments, 3 something differs (check, and the comparison of copy).
`;

type Command = "copy" | "check" | "migrations" | "prune";

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

const OPTIONS: Readonly<Record<Command, ParseArgsOptionsConfig>> = {
  copy: {
    from: text,
    to: text,
    "from-schema": text,
    "to-schema": text,
    caller: { type: "string", multiple: true },
    wait: text,
    "drop-messages": flag,
    replace: flag,
    undo: flag,
    json: flag,
  },
  check: { ledger: text, schema: text, json: flag },
  migrations: { print: flag, ledger: text, for: text, schema: text },
  prune: { ledger: text, schema: text, before: text, undelivered: flag },
};

type Values = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>;

/** Thrown for wrong arguments. */
class ArgumentError extends Error {}

/** Runs the command. Returns the exit code, see `--help`. */
export async function runLedgerCommand(words: readonly string[], host: LedgerCommandHost): Promise<number> {
  const [word = "", ...others] = words;
  if (word === "help" || words.includes("--help") || words.includes("-h")) {
    host.write(HELP);
    return 0;
  }
  try {
    if (!isCommand(word))
      throw new ArgumentError(`The first word must be ${Object.keys(OPTIONS).join(", ")}.`);
    return await COMMANDS[word](readValues(word, others), host);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    host.complain(`${toPrintable(message || "The ledger does not respond.")}\n`);
    if (error instanceof ArgumentError) {
      host.complain("calotype-ledger --help describes the commands.\n");
      return 2;
    }
    return error instanceof VerificationError ? 3 : 1;
  }
}

const isCommand = (word: string): word is Command => Object.hasOwn(OPTIONS, word);

const COMMANDS: Readonly<Record<Command, (values: Values, host: LedgerCommandHost) => Promise<number>>> = {
  copy: runCopy,
  check: runCheck,
  migrations: runMigrations,
  prune: runPrune,
};

function readValues(command: Command, words: readonly string[]): Values {
  try {
    return parseArgs({ args: [...words], options: OPTIONS[command], strict: true }).values;
  } catch (error) {
    const [reason = ""] = (error instanceof Error ? error.message : String(error)).split(". ");
    throw new ArgumentError(`${reason.replace(/\.$/, "")}.`);
  }
}

async function runCopy(values: Values, host: LedgerCommandHost): Promise<number> {
  const from: LedgerAddress = { ledger: need(values, "from"), schema: readString(values, "from-schema") };
  const to: LedgerAddress = { ledger: need(values, "to"), schema: readString(values, "to-schema") };
  const callers = readStrings(values, "caller");
  const [undo, replace] = [values["undo"] === true, values["replace"] === true];
  if (callers.length > 0 && values["drop-messages"] === true) {
    throw new ArgumentError(
      "--drop-messages is not for --caller: the messages stay, and the gateways of the source send them.",
    );
  }
  if (callers.length === 0 && (undo || replace))
    throw new ArgumentError("--undo and --replace need --caller.");
  const options: CopyOptions = {
    waitMs: 1000 * readSeconds(values, "wait"),
    dropMessages: values["drop-messages"] === true,
    onProgress: createProgress(host),
  };
  if (callers.length === 0) {
    const source = await openSource(from);
    await closing(source, async () => {
      const target = await openTarget(to);
      await closing(target, async () =>
        tellCopy(values, host, { ...(await copyLedger(source, target, options)), caller: undefined }),
      );
    });
    return 0;
  }
  const { tables: source } = await openDatabaseOf(from, false);
  await closing(source, async () => {
    const { tables: target } = await openDatabaseOf(to, true);
    await closing(target, async () => {
      for (const caller of callers) {
        if (undo) {
          await undoMove(source, target, caller);
          host.write(`${JSON.stringify(caller)} is at its source again.\n`);
        } else {
          tellCopy(values, host, {
            ...(await moveCaller(source, target, caller, { ...options, replace })),
            caller,
          });
        }
      }
    });
  });
  return 0;
}

function tellCopy(
  values: Values,
  host: LedgerCommandHost,
  { rows, wasComplete, summary, caller }: CopyResult & { readonly caller: string | undefined },
): void {
  if (values["json"] === true) {
    host.write(`${JSON.stringify({ caller, rows, wasComplete, summary })}\n`);
    return;
  }
  const name = caller === undefined ? "The ledger" : JSON.stringify(caller);
  const { rows: records = "0", charge = "0" } = summary["records"] ?? {};
  const { settled = "0" } = summary["balances"] ?? {};
  const facts = `${records} records with charges of ${charge}, balances of ${settled}`;
  host.write(
    wasComplete
      ? `${name} was copied before: ${facts}.\n`
      : `${name} was copied, and the sums are equal: ${facts}. Rows written: ${rows}.\n`,
  );
}

async function runCheck(values: Values, host: LedgerCommandHost): Promise<number> {
  const opened = await openDatabaseOf(readAddress(values, host), false);
  const { differences, notes, records }: CheckResult = await closing(opened.tables, async () =>
    opened.kind === "sqlite" ? await checkSqlite(opened.tables) : await checkPostgres(opened.tables),
  );
  if (values["json"] === true) host.write(`${JSON.stringify({ records, differences, notes })}\n`);
  else {
    for (const line of [...differences, ...notes]) host.write(`${toPrintable(line)}\n`);
    const result = differences.length === 0 ? "Nothing differs." : `Differences: ${differences.length}.`;
    host.write(`${result} Records read: ${records}.\n`);
  }
  return differences.length === 0 ? 0 : 3;
}

async function runMigrations(values: Values, host: LedgerCommandHost): Promise<number> {
  if (values["print"] !== true)
    throw new ArgumentError("migrations only prints: add --print. Gateways take the steps themselves.");
  const kind = readString(values, "for");
  if (kind !== undefined && kind !== "sqlite" && kind !== "postgres") {
    throw new ArgumentError("--for must be sqlite or postgres.");
  }
  const schema = readString(values, "schema");
  if (kind !== undefined) {
    host.write(
      kind === "sqlite"
        ? printSqliteMigrations(0)
        : printPostgresMigrations(schemaOf({ ledger: "", schema }), undefined),
    );
    return 0;
  }
  const address = readAddress(values, host);
  if (!isPostgres(address.ledger)) {
    host.write(printSqliteMigrations(readSqliteFormat(address.ledger)));
    return 0;
  }
  const { database, close } = openPool(address.ledger);
  await closing({ close }, async () => {
    const format = await readPostgresFormat(database, schemaOf(address));
    host.write(printPostgresMigrations(schemaOf(address), format));
  });
  return 0;
}

async function runPrune(values: Values, host: LedgerCommandHost): Promise<number> {
  const options = { before: need(values, "before"), undelivered: values["undelivered"] === true };
  const address = readAddress(values, host);
  const opened = await openDatabaseOf(address, false);
  const removed = await closing(opened.tables, async () => {
    try {
      return opened.kind === "sqlite"
        ? await pruneSqlite(opened.tables, options)
        : await prunePostgres(opened.tables, schemaOf(address), options);
    } catch (error) {
      throw error instanceof RangeError ? new ArgumentError(`--${error.message}.`) : error;
    }
  });
  host.write(`Records removed: ${removed}.\n`);
  return 0;
}

async function closing<T>(tables: { close(): Promise<void> }, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await tables.close();
  }
}

/** Writes how far the copy is now and then. */
function createProgress(host: LedgerCommandHost): CopyOptions["onProgress"] {
  let nextAt = performance.now() + host.progressMs;
  return (table, rows) => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + host.progressMs;
    host.complain(`${table}: ${rows} rows copied …\n`);
  };
}

function readAddress(values: Values, host: LedgerCommandHost): LedgerAddress {
  const ledger = readString(values, "ledger") ?? findLedger(host.readEnv());
  if (ledger === undefined)
    throw new ArgumentError("--ledger is missing, and neither CALOTYPE_LEDGER nor DATABASE_URL names one.");
  return { ledger, schema: readString(values, "schema") };
}

/** As `calotype-key` does. */
function findLedger({
  CALOTYPE_LEDGER,
  DATABASE_URL = "",
}: Readonly<Record<string, string | undefined>>): string | undefined {
  if (CALOTYPE_LEDGER !== undefined && CALOTYPE_LEDGER !== "") return CALOTYPE_LEDGER;
  return isPostgres(DATABASE_URL) ? DATABASE_URL : undefined;
}

function need(values: Values, name: string): string {
  const value = readString(values, name);
  if (value === undefined || value === "") throw new ArgumentError(`--${name} is missing.`);
  return value;
}

function readString(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

function readStrings(values: Values, name: string): string[] {
  const value = values[name];
  const list = Array.isArray(value) ? value.map(String) : [];
  if (list.includes("")) throw new ArgumentError(`--${name} must not be empty.`);
  return [...new Set(list)];
}

function readSeconds(values: Values, name: string): number {
  const written = readString(values, name) ?? "0";
  if (/^\d{1,5}$/.test(written)) return Number(written);
  throw new ArgumentError(`--${name} must be a number of seconds, at most 99999.`);
}

/** Control characters of ids must not reach the terminal. */
const toPrintable = (message: string): string =>
  message.replaceAll(
    /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
