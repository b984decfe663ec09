import type { ColumnType, OpenWork, Page, Place, Scope, Summary, Table, TableRow, Value } from "./tables.js";

/** What differs between the SQL of the databases. */
export interface Dialect {
  /** The table in SQL, and the condition of its rows, if others are in it too. */
  source(table: Table): { readonly name: string; readonly condition?: string | undefined };
  /** Reads a column: its values are as {@link Value} or as strings of digits. */
  read(column: string, type: ColumnType): string;
  /** The parameter at a position (from 1) in the type of a column. */
  parameter(position: number, type: ColumnType): string;
  /** The sum of a column as a string of digits. `'0'` without rows. */
  sum(column: string, type: ColumnType): string;
}

/** A statement with its values, in the order of their parameters. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** How many rows are read and written at once. A row of a record has about a kilobyte, and at most some tens. */
export const PAGE_ROWS = 1_000;

/** A balance may be there already when one is written: that of a request that its budget refused. */
export const REPLACE_BALANCE = `ON CONFLICT (caller) DO UPDATE SET settled = excluded.settled, held = excluded.held,
  budget = excluded.budget, alerted = excluded.alerted`;

/** Selects a page of a table: its columns, and then those of its key. */
export function selectPage(dialect: Dialect, table: Table, scope: Scope, { after }: Place): Statement {
  const { name, conditions, values, add } = begin(dialect, table, scope);
  if (after !== undefined) {
    const places = table.key.map((column, at) => add(after[at] ?? null, keyType(table, column)));
    conditions.push(`(${table.key.join(", ")}) > (${places.join(", ")})`);
  }
  const columns = [
    ...Object.entries(table.columns).map(([column, type]) => `${dialect.read(column, type)} AS ${column}`),
    ...table.key.map((column, at) => `${dialect.read(column, keyType(table, column))} AS key_${at}`),
  ];
  // Of the table and not of the result, whose columns have the same names: so an index has the order.
  const order = table.key.map((column) => `s.${column}`);
  const sql = `SELECT ${columns.join(", ")} FROM ${name} AS s${toWhere(conditions)}
    ORDER BY ${order.join(", ")} LIMIT ${PAGE_ROWS}`;
  return { sql, values };
}

/** A row as a database returns it. */
export type SelectedRow = Readonly<Record<string, unknown>>;

/** Reads the rows that {@link selectPage} has selected. */
export function toPage(table: Table, place: Place, selected: readonly SelectedRow[]): Page {
  const columns = Object.entries(table.columns);
  const rows = selected.map((row): TableRow => columns.map(([name, type]) => toValue(row[name], type)));
  const last = selected.at(-1);
  if (rows.length < PAGE_ROWS || last === undefined) return { rows, next: undefined };
  const after = table.key.map((column, at) => toValue(last[`key_${at}`], keyType(table, column)));
  return { rows, next: { after, rows: place.rows + rows.length } };
}

/** Selects the sums of a table, see {@link toSums}. */
function selectSums(dialect: Dialect, table: Table, scope: Scope): Statement {
  const { name, conditions, values } = begin(dialect, table, scope);
  const sums = summedColumns(table).map(([column, type]) => `${dialect.sum(column, type)} AS ${column}`);
  return {
    sql: `SELECT ${['count(*) AS "rows"', ...sums].join(", ")} FROM ${name}${toWhere(conditions)}`,
    values,
  };
}

/** Reads the row that {@link selectSums} has selected. */
function toSums(table: Table, row: SelectedRow | undefined): Summary[string] {
  const names = ["rows", ...summedColumns(table).map(([column]) => column)];
  return Object.fromEntries(names.map((name) => [name, String(row?.[name])]));
}

/** Reads the sums of tables, each with a statement. */
export async function summarizeTables(
  dialect: Dialect,
  tables: readonly Table[],
  scope: Scope,
  selectOne: (statement: Statement) => Promise<SelectedRow | undefined>,
): Promise<Summary> {
  const summary: Record<string, Summary[string]> = {};
  for (const table of tables) {
    summary[table.name] = toSums(table, await selectOne(selectSums(dialect, table, scope)));
  }
  return summary;
}

/** Reads a row with a count of each kind of {@link OpenWork}. */
export const toOpenWork = (row: SelectedRow | undefined): OpenWork => ({
  holds: Number(row?.["holds"]),
  tasks: Number(row?.["tasks"]),
  messages: Number(row?.["messages"]),
  processes: Number(row?.["processes"]),
});

/** The columns with numbers. */
export const summedColumns = (table: Table): [string, ColumnType][] =>
  Object.entries(table.columns).filter(([, type]) => type !== "text");

/** The sum of times has too many digits, so that of their rests is taken. */
export const TIME_DIVISOR = 1_000_003;

/** Deletes the rows of a caller. */
export function deleteRows(dialect: Dialect, table: Table, caller: string): Statement {
  const { name, conditions, values } = begin(dialect, table, { caller });
  return { sql: `DELETE FROM ${name}${toWhere(conditions)}`, values };
}

/** The conditions of the rows of a scope, with their values. `add` adds a value, and returns its parameter. */
function begin(dialect: Dialect, table: Table, { caller }: Scope) {
  const { name, condition } = dialect.source(table);
  const values: Value[] = [];
  const add = (value: Value, type: ColumnType): string => {
    values.push(value);
    return dialect.parameter(values.length, type);
  };
  const conditions = condition === undefined ? [] : [condition];
  if (caller !== undefined) {
    if (table.caller === undefined) throw new TypeError(`${table.name} has no column with the caller.`);
    conditions.push(`${table.caller} = ${add(caller, "text")}`);
  }
  return { name, conditions, values, add };
}

/** A key may have `sequence`, which is not among the columns. */
const keyType = (table: Table, column: string): ColumnType => table.columns[column] ?? "integer";

const toWhere = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;

/** @throws TypeError if the value is not of the type */
export function toValue(value: unknown, type: ColumnType): Value {
  if (value === null) return null;
  if (type === "text" || type === "money") {
    if (typeof value === "string") return value;
  } else {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
  }
  throw new TypeError(`The tables of the ledger are not as they should be: a ${type} is ${typeof value}.`);
}
