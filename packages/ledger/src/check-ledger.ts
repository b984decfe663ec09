import type { SelectedRow } from "./sql.js";

/** What differs between the SQL of the databases in a check. */
export interface CheckDialect {
  /** The table in SQL. */
  table(name: string): string;
  /** The hour of the column `time` of records. */
  readonly hour: string;
  /** A time column in milliseconds since 1970. */
  toMs(column: string): string;
  /** The parameter at a position, a time in milliseconds since 1970, as `hour` is. */
  time(position: number): string;
  /** The parameter at a position, a string. */
  text(position: number): string;
  /** The sum of amounts, 0 without rows. */
  sum(column: string, filter?: string): string;
  /** Whether an amount is above another one. */
  isAbove(one: string, other: string): string;
  /** An amount of 0. */
  readonly zero: string;
  /** The open holds with `caller`, `amount` and `period`, also those of tasks, as a table. */
  readonly holds: string;
  /** The condition that a record `r` waits to be delivered. */
  readonly isUndelivered: string;
}

/** Runs a statement. All statements of a check see the same moment. */
export type CheckQuery = (
  sql: string,
  values?: readonly (string | number)[],
) => Promise<readonly SelectedRow[]>;

/** What a check has found. */
export interface CheckResult {
  /** What differs, one line for each. At most {@link MOST} of each kind. */
  readonly differences: readonly string[];
  /** What could not be computed again, because records were removed. */
  readonly notes: readonly string[];
  /** The records that were read. */
  readonly records: number;
}

/** How many differences of a kind are listed. */
const MOST = 100;

/**
 * Computes the totals of hours, the balances and the balances of periods again, and compares them with what the ledger has. Gateways
 * may run meanwhile.
 *
 * Records that were removed (pruned, or dropped after `retention`) leave the totals of their hours. Before the first hour with all of
 * its records, and for the periods of that time, what the records add up to is a lower bound only.
 *
 * @throws Error if records of an older version are not counted yet
 */
export async function checkLedger(dialect: CheckDialect, query: CheckQuery): Promise<CheckResult> {
  const records = dialect.table("records");
  const [counts] = await query(
    `SELECT count(*) AS found, count(*) FILTER (WHERE outcome IS NULL) AS uncounted FROM ${records}`,
  );
  if (Number(counts?.["uncounted"]) > 0) {
    throw new Error(
      `${Number(counts?.["uncounted"])} records of an older version are not counted yet: a gateway of this version counts them after its start. Check again then.`,
    );
  }
  const complete = await findComplete(dialect, query);
  const hours = await compareHours(dialect, query, complete.from);
  const balances = await query(compareBalances(dialect));
  const held = await query(compareHeld(dialect));
  const periods = await query(comparePeriods(dialect), [complete.periodsAfter]);
  const periodsHeld = await query(comparePeriodsHeld(dialect));
  return {
    differences: [
      ...toLines(hours, ({ hour, caller, model, channel, ...columns }) => {
        const place = `hour ${toTime(hour)}, caller ${quote(caller)}, model ${quote(model)}, channel ${quote(channel)}`;
        return `The totals of ${place}: ${describeColumns(columns)}.`;
      }),
      ...toLines(
        balances,
        ({ caller, settled, computed }) =>
          `The balance of ${quote(caller)}: settled is ${String(settled)}, its totals of hours add up to ${String(computed)}.`,
      ),
      ...toLines(
        held,
        ({ caller, held: stored, computed }) =>
          `The balance of ${quote(caller)}: held is ${String(stored)}, its holds add up to ${String(computed)}.`,
      ),
      ...toLines(
        periods,
        ({ caller, period, settled, computed }) =>
          `The period ${quote(period)} of ${quote(caller)}: settled is ${String(settled)}, its records add up to ${String(computed)}.`,
      ),
      ...toLines(
        periodsHeld,
        ({ caller, period, held: stored, computed }) =>
          `The period ${quote(period)} of ${quote(caller)}: held is ${String(stored)}, its holds add up to ${String(computed)}.`,
      ),
    ],
    notes: complete.note === undefined ? [] : [complete.note],
    records: Number(counts?.["found"]),
  };
}

interface Complete {
  /** From this hour on, all records must be there. Milliseconds since 1970. */
  readonly from: number;
  /** Periods that begin after this day must have all of their records. */
  readonly periodsAfter: string;
  readonly note: string | undefined;
}

const DAY_MS = 86_400_000;

/**
 * Finds the first hour with all of its records. An hour whose records all wait to be delivered proves nothing, because such records
 * are spared when others are removed; unless none is ever delivered.
 */
async function findComplete(dialect: CheckDialect, query: CheckQuery): Promise<Complete> {
  const [row] = await query(`WITH stored AS (
      SELECT hour, sum(requests) AS requests FROM ${dialect.table("hourly_totals")} GROUP BY hour HAVING sum(requests) > 0
    ), found AS (
      SELECT ${dialect.hour} AS hour, count(*) AS requests, count(*) FILTER (WHERE NOT (${dialect.isUndelivered})) AS delivered
        FROM ${dialect.table("records")} r GROUP BY 1
    ), compared AS (
      SELECT stored.hour, stored.requests, coalesce(found.requests, 0) AS found, coalesce(found.delivered, 0) AS delivered
        FROM stored LEFT JOIN found ON found.hour = stored.hour
    ), first AS (
      SELECT min(hour) AS hour FROM compared WHERE found >= requests AND (delivered > 0 OR (SELECT max(delivered) FROM compared) = 0)
    )
    SELECT (SELECT ${dialect.toMs("hour")} FROM first) AS first,
      (SELECT coalesce(sum(requests - found), 0) FROM compared
        WHERE found < requests AND ((SELECT hour FROM first) IS NULL OR hour < (SELECT hour FROM first))) AS missing`);
  const missing = Number(row?.["missing"]);
  // An hour of records that wait to be delivered may come first: nothing is missing then.
  if (missing === 0) return { from: 0, periodsAfter: "", note: undefined };
  const hour = row?.["first"] ?? null;
  if (hour === null) {
    const note = `All records that were delivered are gone (${missing}): totals and balances of periods are checked as lower bounds only.`;
    return { from: Number.MAX_SAFE_INTEGER, periodsAfter: "9999", note };
  }
  const from = Number(hour);
  return {
    from,
    // A day later: periods have their own time zones.
    periodsAfter: new Date(from + DAY_MS).toISOString().slice(0, 10),
    note: `${missing} records before ${toTime(from)} were removed: totals of that time, and balances of periods that began before, are checked as lower bounds only.`,
  };
}

/** The columns of totals that are compared, with their sums over records. */
const sumsOf = (dialect: CheckDialect): Readonly<Record<string, string>> => ({
  requests: "count(*)",
  refused: "count(*) FILTER (WHERE outcome = 'refused')",
  failed: "count(*) FILTER (WHERE outcome = 'failed')",
  unresolved: "count(*) FILTER (WHERE outcome = 'unresolved')",
  released: "count(*) FILTER (WHERE outcome = 'released')",
  images: "coalesce(sum(images), 0)",
  tokens: "coalesce(sum(tokens), 0)",
  duration_ms: "coalesce(sum(duration_ms) FILTER (WHERE outcome = 'succeeded'), 0)",
  costed: "count(cost)",
  charge: dialect.sum("charge"),
  cost: dialect.sum("cost"),
  costed_charge: dialect.sum("charge", "cost IS NOT NULL"),
});

const AMOUNTS = new Set(["charge", "cost", "costed_charge"]);

async function compareHours(
  dialect: CheckDialect,
  query: CheckQuery,
  from: number,
): Promise<readonly SelectedRow[]> {
  const sums = sumsOf(dialect);
  const names = Object.keys(sums);
  const zeroOf = (name: string): string => (AMOUNTS.has(name) ? dialect.zero : "0");
  const stored = (name: string): string => `coalesce(t.${name}, ${zeroOf(name)})`;
  const found = (name: string): string => `coalesce(r.${name}, ${zeroOf(name)})`;
  // The later hours must be equal. Of the others some records may be missing.
  const differs = names.map((name) => `${stored(name)} <> ${found(name)}`).join(" OR ");
  const exceeds = `${found("requests")} > ${stored("requests")} OR ${dialect.isAbove(found("charge"), stored("charge"))}`;
  const isLater =
    from === Number.MAX_SAFE_INTEGER ? "FALSE" : `coalesce(t.hour, r.hour) >= ${dialect.time(1)}`;
  return await query(
    `WITH r AS (
        SELECT ${dialect.hour} AS hour, caller, model, channel, ${names.map((name) => `${sums[name]} AS ${name}`).join(", ")}
          FROM ${dialect.table("records")} GROUP BY 1, 2, 3, 4
      )
      SELECT ${dialect.toMs("coalesce(t.hour, r.hour)")} AS hour, coalesce(t.caller, r.caller) AS caller,
        coalesce(t.model, r.model) AS model, coalesce(t.channel, r.channel) AS channel,
        ${names.map((name) => `${stored(name)} AS stored_${name}, ${found(name)} AS found_${name}`).join(", ")}
      FROM ${dialect.table("hourly_totals")} t
      FULL JOIN r ON r.hour = t.hour AND r.caller = t.caller AND r.model = t.model AND r.channel = t.channel
      WHERE CASE WHEN ${isLater} THEN ${differs} ELSE ${exceeds} END
      ORDER BY 1, 2, 3, 4 LIMIT ${MOST + 1}`,
    from === Number.MAX_SAFE_INTEGER ? [] : [from],
  );
}

/** Joins what is stored of callers with what was computed, and selects the rows that differ. */
function compare(
  dialect: CheckDialect,
  {
    table,
    column,
    keys,
    computed,
    condition,
  }: {
    readonly table: string;
    readonly column: string;
    readonly keys: readonly string[];
    readonly computed: string;
    readonly condition?: string;
  },
): string {
  const stored = `coalesce(s.${column}, ${dialect.zero})`;
  const found = `coalesce(c.amount, ${dialect.zero})`;
  return `WITH c AS (${computed})
    SELECT ${keys.map((key) => `coalesce(s.${key}, c.${key}) AS ${key}`).join(", ")}, ${stored} AS ${column}, ${found} AS computed
      FROM ${dialect.table(table)} s FULL JOIN c ON ${keys.map((key) => `c.${key} = s.${key}`).join(" AND ")}
      WHERE ${condition ?? `${stored} <> ${found}`} ORDER BY 1, 2 LIMIT ${MOST + 1}`;
}

const compareBalances = (dialect: CheckDialect): string =>
  compare(dialect, {
    table: "balances",
    column: "settled",
    keys: ["caller"],
    computed: `SELECT caller, ${dialect.sum("charge")} AS amount FROM ${dialect.table("hourly_totals")} GROUP BY caller`,
  });

const compareHeld = (dialect: CheckDialect): string =>
  compare(dialect, {
    table: "balances",
    column: "held",
    keys: ["caller"],
    computed: `SELECT caller, ${dialect.sum("amount")} AS amount FROM ${dialect.holds} GROUP BY caller`,
  });

function comparePeriods(dialect: CheckDialect): string {
  const stored = `coalesce(s.settled, ${dialect.zero})`;
  const found = `coalesce(c.amount, ${dialect.zero})`;
  return compare(dialect, {
    table: "period_balances",
    column: "settled",
    keys: ["caller", "period"],
    computed: `SELECT caller, period, ${dialect.sum("charge")} AS amount FROM ${dialect.table("records")}
      WHERE period IS NOT NULL GROUP BY caller, period`,
    // The key of a period begins with its first day.
    condition: `CASE WHEN substr(coalesce(s.period, c.period), 1, 10) > ${dialect.text(1)} THEN ${stored} <> ${found}
      ELSE ${dialect.isAbove(found, stored)} END`,
  });
}

const comparePeriodsHeld = (dialect: CheckDialect): string =>
  compare(dialect, {
    table: "period_balances",
    column: "held",
    keys: ["caller", "period"],
    computed: `SELECT caller, period, ${dialect.sum("amount")} AS amount FROM ${dialect.holds}
      WHERE period IS NOT NULL GROUP BY caller, period`,
  });

/** A line for each row, and one more if there are too many. */
function toLines(rows: readonly SelectedRow[], toLine: (row: SelectedRow) => string): string[] {
  const lines = rows.slice(0, MOST).map(toLine);
  return rows.length > MOST ? [...lines, `More of the same: only ${MOST} are listed.`] : lines;
}

/** Such as `requests is 3, its records add up to 2`. */
function describeColumns(columns: SelectedRow): string {
  return Object.entries(columns)
    .flatMap(([name, stored]) => {
      const column = name.replace(/^stored_/, "");
      const found = columns[`found_${column}`];
      return column === name || String(stored) === String(found)
        ? []
        : [`${column} is ${String(stored)}, its records add up to ${String(found)}`];
    })
    .join("; ");
}

const toTime = (ms: unknown): string => new Date(Number(ms)).toISOString();

const quote = (value: unknown): string => JSON.stringify(value);
