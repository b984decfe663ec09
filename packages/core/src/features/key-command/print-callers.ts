import type { CallerAuditEntry, CallerInfo, CallerWithKey } from "../callers/callers.js";
import type { TotalsKey, UsageTotal } from "../usage/usage-reports.js";
import { writeBudget } from "./budget-argument.js";

/** The output of a command that made a key. */
export function printKey({ caller, key }: CallerWithKey): string {
  const others = caller.keys.filter(({ endsAt }) => endsAt !== undefined);
  const ends = others.map(({ hint, endsAt }) => `The key ${toPrintable(hint)} ends at ${endsAt}.\n`).join("");
  return `Id   ${toPrintable(caller.id)}\nKey  ${key}\n\nGive the key to the caller. It cannot be shown again.\n${ends}`;
}

/** The output of a rotation: also when the keys before it end. */
export function printRotated(rotated: CallerWithKey): string {
  const hasOthers = rotated.caller.keys.some(({ endsAt }) => endsAt !== undefined);
  return hasOthers ? printKey(rotated) : `${printKey(rotated)}The keys before it have ended.\n`;
}

/** Why a caller that works may be unknown here. */
export const OPTIONS_NOT_LISTED =
  "Callers in the options of the gateway (callers: […]), and those of authenticate, are not in the ledger and not listed here.\n";

/** How to get the next page of a list. */
export function printNext(next: string): string {
  return `\nThere are more: --after ${JSON.stringify(toPrintable(next))}\n`;
}

const CALLER_COLUMNS = ["ID", "STATE", "GROUP", "BUDGET", "MODELS", "LIMITS", "KEYS", "CHANGED"];

/** The callers as a table, with the problems of those that cannot be used. */
export function printCallers(callers: readonly CallerInfo[]): string {
  if (callers.length === 0) return `No caller was created at run time.\n${OPTIONS_NOT_LISTED}`;
  const problems = callers.flatMap(({ id, problem }) =>
    problem === undefined ? [] : `\n${toPrintable(id)}: ${toPrintable(problem)}\n`,
  );
  return formatTable(CALLER_COLUMNS, callers.map(toCells)) + problems.join("");
}

function toCells({ id, state, group, budget, models, limits = {}, keys, changedAt }: CallerInfo): string[] {
  const written = Object.entries(limits).map(([name, limit]) => `${name} ${limit ?? "none"}`);
  const hints = keys.map(({ hint, endsAt }) => (endsAt === undefined ? hint : `${hint} until ${endsAt}`));
  return [
    id,
    state,
    group ?? "default",
    budget === undefined ? "-" : writeBudget(budget),
    models?.join(",") ?? "all",
    written.join(", ") || "-",
    hints.join(", ") || "-",
    changedAt,
  ];
}

/** The changes of callers as a table. */
export function printAudit(entries: readonly CallerAuditEntry[]): string {
  if (entries.length === 0) return "There are no lines.\n";
  const rows = entries.map(({ time, by, action, caller, fields }) => [
    time,
    by,
    action,
    caller,
    fields.map(({ field, from, to }) => `${field}: ${show(from)} → ${show(to)}`).join("; ") || "-",
  ]);
  return formatTable(["TIME", "BY", "ACTION", "CALLER", "CHANGED"], rows);
}

/** What was used and charged, by the key of `--by`. */
export function printTotals(key: TotalsKey | "week" | "month", totals: readonly UsageTotal[]): string {
  if (totals.length === 0) return "There are no requests.\n";
  const rows = totals.map((total) => [
    total.key || "-",
    String(total.requests),
    String(total.images),
    total.charge,
    String(total.unresolved),
  ]);
  return formatTable([key.toUpperCase(), "REQUESTS", "IMAGES", "CHARGE", "UNRESOLVED"], rows);
}

function show(value: unknown): string {
  return value === undefined ? "unset" : JSON.stringify(value);
}

/** Replaces characters that could change how a terminal shows a line, such as line ends and changes of the direction. */
export function toPrintable(value: string): string {
  return value.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

/** The longest cell; a longer one is cut. The last one of a row may be longer. */
const MAX_CELL = 80;
const MAX_LAST_CELL = 400;

/** Formats a table. Each row is one line, whatever its cells contain. */
function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map((row) =>
    row.map((cell, column) => toCell(cell, column === head.length - 1 ? MAX_LAST_CELL : MAX_CELL)),
  );
  const widths = head.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

function toCell(value: string, maxLength: number): string {
  const printable = toPrintable(value);
  return printable.length <= maxLength ? printable : `${printable.slice(0, maxLength - 1)}…`;
}
