import type { ProcessesCell, ProcessesResults, Round } from "../ledger-processes.ts";
import { medianOf } from "../statistics.ts";
import { describeRun, type StoredRun } from "../stored-run.ts";
import { type Figures, formatAbout, formatCount, formatRatio, formatTime } from "./format.ts";
import { renderRows } from "./render-tables.ts";

const TITLES: Readonly<Record<ProcessesCell["work"], string>> = {
  rows: "single rows, each in its own transaction",
  requests: "requests",
  tasks: "tasks",
};

/** The figures of a run with 1, 10 and 30 processes. */
export function createLedgerFigures(run: StoredRun<ProcessesResults>): Figures {
  const { alone, cells, connections, postgres } = run.results;
  const rows = cells.map((cell) => {
    const older = medianRound(cell.older, "perSecond");
    const newer = medianRound(cell.newer, "perSecond");
    return [
      describeCell(cell),
      formatCount(cell.processes),
      formatCount(cell.processes * cell.lines),
      formatCount(newer),
      formatTime(medianRound(cell.newer, "p50")),
      formatTime(medianRound(cell.newer, "p99")),
      formatTime(medianRound(cell.newer, "serverCpuMs")),
      formatCount(cell.newer.reduce((sum, { failed }) => sum + failed, 0)),
      cell.older.length === 0 ? "" : formatRatio(newer / older),
    ];
  });
  const head = [
    "",
    "Processes",
    "In progress",
    "A second",
    "Median",
    "99 %",
    "CPU of the server",
    "Failed",
    "× version before",
  ];
  const ratio = alone.newer / alone.bare;
  return {
    "ledger-rates": [
      renderRows([head, ...rows]),
      "",
      `${describeRun(run)} PostgreSQL ${postgres} with its default settings, on the same cores; ${connections} connections for each process.`,
    ].join("\n"),
    "ledger-alone": formatTime(alone.newer),
    "ledger-alone-ratio": formatRatio(ratio),
    "ledger-bare": formatTime(alone.bare),
    "ledger-single-caller": formatAbout(findSingleCallerRate(run.results)),
    "ledger-best": formatAbout(findRate(run.results)),
  };
}

/** The requests of many callers in a second, in the fleet that makes most, without deliveries. */
export function findRate({ cells }: ProcessesResults): number {
  return best(cells, ({ work, callers, isRead }) => work === "requests" && callers > 1 && !isRead);
}

/** The same of one caller. */
export function findSingleCallerRate({ cells }: ProcessesResults): number {
  return best(cells, ({ work, callers }) => work === "requests" && callers === 1);
}

/** The CPU time of the server for a request in that fleet, in milliseconds. */
export function findServerCpuMs({ cells }: ProcessesResults): number {
  const fitting = cells.filter(({ work, callers, isRead }) => work === "requests" && callers > 1 && !isRead);
  return Math.min(...fitting.map(({ newer }) => medianRound(newer, "serverCpuMs")));
}

function best(cells: readonly ProcessesCell[], fits: (cell: ProcessesCell) => boolean): number {
  return Math.max(...cells.filter(fits).map(({ newer }) => medianRound(newer, "perSecond")));
}

function describeCell({ work, callers, isRead }: ProcessesCell): string {
  const of = work === "requests" && callers === 1 ? " of one caller" : "";
  return `${TITLES[work]}${of}${isRead ? ", delivered" : ""}`;
}

const medianRound = (rounds: readonly Round[], key: keyof Round): number =>
  medianOf(rounds.map((round) => round[key]));
