import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { finished } from "node:stream/promises";
import { addDecimals, type Decimal, formatDecimal, readDecimal } from "@calotype/core/stores";
import { PAGE_ROWS, summedColumns, TIME_DIVISOR, toValue } from "./sql.js";
import {
  type Place,
  type SourceTables,
  type Summary,
  TABLES,
  type Table,
  type TableRow,
  type TargetTables,
} from "./tables.js";

/*
 * A dump has lines of JSON:
 *
 *   {"calotype":"ledger","version":1}
 *   {"table":"records","columns":["id","state",…]}     then a line for each row: an array of its values
 *   {"end":{"revision":3,"rows":1234}}                 the number of changes of all callers, and of rows
 *
 * The tables and their columns are those of tables.ts, in their order.
 */

const VERSION = 1;

/** The last line of a dump. */
interface DumpEnd {
  readonly revision: number;
  readonly rows: number;
}

/** A row with its table, or the last line. */
type DumpLine = { readonly table: Table; readonly row: TableRow } | { readonly end: DumpEnd };

/**
 * The tables of a dump.
 *
 * @throws Error with the line if the file is not a complete dump
 */
export async function openDumpSource(path: string): Promise<SourceTables> {
  // An error of the file system names the path.
  await (await open(path)).close();
  return toSource(path, path);
}

function toSource(path: string, name: string): SourceTables {
  let position:
    | { readonly table: Table; readonly rows: number; readonly lines: AsyncIterator<DumpLine> }
    | undefined;
  let pushedBack: DumpLine | undefined;
  const closeLines = async (): Promise<void> => {
    await position?.lines.return?.();
    position = undefined;
    pushedBack = undefined;
  };

  /** The lines of a table from a row on: those that follow the last page, or the file is read again. */
  const seek = async (table: Table, { rows }: Place): Promise<AsyncIterator<DumpLine>> => {
    if (position?.table === table && position.rows === rows) return position.lines;
    await closeLines();
    const lines = readLines(path);
    let skipped = 0;
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) break;
      if ("end" in value || (value.table === table && skipped++ === rows) || isAfter(value.table, table)) {
        pushedBack = value;
        break;
      }
    }
    return lines;
  };

  return {
    description: `the dump ${resolve(name)}`,
    read: async (table, _scope, place) => {
      const lines = await seek(table, place);
      const rows: TableRow[] = [];
      while (rows.length < PAGE_ROWS) {
        const line: DumpLine | undefined = pushedBack ?? (await lines.next()).value;
        pushedBack = undefined;
        if (line === undefined || "end" in line || line.table !== table) {
          await lines.return?.();
          position = undefined;
          return { rows, next: undefined };
        }
        rows.push(line.row);
      }
      position = { table, rows: place.rows + rows.length, lines };
      return { rows, next: { rows: place.rows + rows.length } };
    },
    summarize: async (tables) => {
      const sums = new Map(tables.map((table) => [table.name, createSums(table)]));
      for await (const line of readLines(path))
        if (!("end" in line)) sums.get(line.table.name)?.add(line.row);
      return Object.fromEntries([...sums].map(([table, added]) => [table, added.read()]));
    },
    countOpenWork: async () => NO_WORK,
    isStopped: async () => false,
    readRevision: async () => {
      for await (const line of readLines(path)) if ("end" in line) return line.end.revision;
      return 0;
    },
    close: closeLines,
  };
}

/**
 * A new dump. The file gets its name when the copy has ended. A copy that was interrupted begins again.
 *
 * @throws Error if the file exists
 */
export async function openDumpTarget(path: string): Promise<TargetTables> {
  const file = await open(path, "wx", 0o600).catch((cause: unknown) => {
    throw new Error(`The file ${path} cannot be written, or exists already: name a new file.`, { cause });
  });
  await file.close();
  await rm(path);
  const part = `${path}.part`;
  const writer = createDumpWriter(part);
  const sums = new Map(TABLES.map((table) => [table.name, createSums(table)]));
  const readSums = (tables: readonly Table[]): Summary =>
    Object.fromEntries(tables.map(({ name }) => [name, sums.get(name)?.read() ?? {}]));
  return {
    description: `the dump ${resolve(path)}`,
    summarize: async (tables) => readSums(tables),
    countOpenWork: async () => NO_WORK,
    isStopped: async () => false,
    // No gateway uses a file.
    stop: async () => undefined,
    start: async () => undefined,
    readProgress: async () => undefined,
    write: async (table, rows) => {
      for (const row of rows) sums.get(table.name)?.add(row);
      await writer.write(table, rows);
    },
    finish: async (_progress, revision) => {
      await writer.end(revision);
      const written = await toSource(part, path).summarize(TABLES, {});
      if (JSON.stringify(written) !== JSON.stringify(readSums(TABLES))) {
        throw new Error(`The file ${part} does not contain what was written.`);
      }
      await rename(part, path);
    },
    close: async () => await writer.close(),
  };
}

const NO_WORK = { holds: 0, tasks: 0, messages: 0, processes: 0 };

/** Writes the lines of a dump. */
export interface DumpWriter {
  /** Tables come in the order of the list. */
  write(table: Table, rows: readonly TableRow[]): Promise<void>;
  /** Writes the last line, and waits for the disk. */
  end(revision: number): Promise<void>;
  /** Closes the file. Without its last line it is not complete. */
  close(): Promise<void>;
}

/** Begins a dump. An existing file is replaced. */
export function createDumpWriter(path: string): DumpWriter {
  const file = createWriteStream(path, { mode: 0o600, flush: true });
  // `finished` rejects with it too.
  const failed = new Promise<never>((_, reject) => file.once("error", reject));
  failed.catch(() => undefined);
  let last: Table | undefined;
  let count = 0;
  const writeLines = async (lines: readonly unknown[]): Promise<void> => {
    const block = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    if (!file.write(block)) await Promise.race([once(file, "drain"), failed]);
  };
  const close = async (): Promise<void> => {
    if (file.closed) return;
    file.end();
    await finished(file);
  };
  const begin = writeLines([{ calotype: "ledger", version: VERSION }]);
  return {
    write: async (table, rows) => {
      await begin;
      if (rows.length === 0) return;
      const head = last === table ? [] : [{ table: table.name, columns: Object.keys(table.columns) }];
      last = table;
      count += rows.length;
      await writeLines([...head, ...rows]);
    },
    end: async (revision) => {
      await begin;
      await writeLines([{ end: { revision, rows: count } }]);
      await close();
    },
    close,
  };
}

const isAfter = (table: Table, other: Table): boolean => TABLES.indexOf(table) > TABLES.indexOf(other);

/** Reads and checks the lines of a dump. The last one is its end. */
async function* readLines(path: string): AsyncGenerator<DumpLine, undefined> {
  let number = 0;
  let table: Table | undefined;
  let rows = 0;
  let end: DumpEnd | undefined;
  try {
    for await (const line of splitLines(path)) {
      number += 1;
      const value = parseLine(line);
      if (number === 1) checkHead(value);
      else if (end !== undefined) throw new Error("it is after the end");
      else if (Array.isArray(value)) {
        if (table === undefined) throw new Error("it is a row without a table");
        rows += 1;
        yield { table, row: readRow(table, value) };
      } else if ("end" in value) {
        end = readEnd(value["end"], rows);
        yield { end };
      } else table = readTable(value, table);
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`Line ${number} of the dump ${path} cannot be read: ${reason}.`, { cause });
  }
  if (end === undefined) throw new Error(`The dump ${path} is not complete: its last line is missing.`);
  return undefined;
}

/** The lines of a file. `readline` also ends a line at U+2028 and U+2029, which strings in JSON may contain. */
async function* splitLines(path: string): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const chunk of createReadStream(path, "utf8")) {
    const lines = `${rest}${chunk}`.split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  if (rest !== "") yield rest;
  return undefined;
}

type JsonLine = unknown[] | Readonly<Record<string, unknown>>;

function parseLine(line: string): JsonLine {
  const value: unknown = JSON.parse(line);
  if (Array.isArray(value)) return value;
  if (typeof value !== "object" || value === null) throw new Error("it must be an object or an array");
  return { ...value };
}

function checkHead(value: JsonLine): void {
  if (Array.isArray(value) || !("calotype" in value) || value["calotype"] !== "ledger") {
    throw new Error("the file is not a dump of a ledger");
  }
  if (value["version"] !== VERSION) {
    throw new Error(`the dump has version ${String(value["version"])}, this command knows ${VERSION}`);
  }
}

function readTable(value: Readonly<Record<string, unknown>>, before: Table | undefined): Table {
  const table = TABLES.find(({ name }) => name === value["table"]);
  if (table === undefined) throw new Error(`there is no table ${JSON.stringify(value["table"])}`);
  if (before !== undefined && !isAfter(table, before)) throw new Error("the tables are not in their order");
  const columns = JSON.stringify(Object.keys(table.columns));
  if (JSON.stringify(value["columns"]) !== columns) throw new Error(`its columns must be ${columns}`);
  return table;
}

function readRow(table: Table, value: readonly unknown[]): TableRow {
  const columns = Object.entries(table.columns);
  if (value.length !== columns.length) throw new Error(`it must have ${columns.length} values`);
  return columns.map(([name, type], at) => {
    const one = toValue(value[at], type);
    if (type === "money" && typeof one === "string") readDecimal(one);
    if (typeof one === "string" && one.includes("\0")) throw new Error(`${name} contains a NUL`);
    return one;
  });
}

function readEnd(value: unknown, rows: number): DumpEnd {
  const end: Readonly<Record<string, unknown>> =
    typeof value === "object" && value !== null ? { ...value } : {};
  const { revision } = end;
  if (typeof revision !== "number" || !Number.isSafeInteger(revision))
    throw new Error("it must have a revision");
  if (end["rows"] !== rows) throw new Error(`the dump has ${rows} rows and not ${String(end["rows"])}`);
  return { revision, rows };
}

/** Adds up the rows of a table, as {@link SourceTables.summarize} of a database does. */
function createSums(table: Table): { add(row: TableRow): void; read(): Summary[string] } {
  const names = Object.keys(table.columns);
  const columns = summedColumns(table).map(([name, type]) => ({ name, type, at: names.indexOf(name) }));
  const sums = columns.map((): Decimal => readDecimal("0"));
  let rows = 0;
  return {
    add: (row) => {
      rows += 1;
      for (const [place, { type, at }] of columns.entries()) {
        const value = row[at] ?? null;
        if (value === null) continue;
        const added = type === "time" ? Number(value) % TIME_DIVISOR : value;
        sums[place] = addDecimals(sums[place] ?? readDecimal("0"), readDecimal(String(added)));
      }
    },
    read: () => ({
      rows: String(rows),
      ...Object.fromEntries(
        columns.map(({ name }, place) => [name, formatDecimal(sums[place] ?? readDecimal("0"))]),
      ),
    }),
  };
}
