import type { Round } from "@calotype/conformance/histories/run-round";
import type { Part, PartContext } from "../part.ts";

/** Calls of several clients that are checked for one serial order. */
export const histories: Part<Round> = {
  name: "histories",
  guarantees:
    "Clients of several processes hold, settle, release and sweep on one ledger, read balances, records and the outbox, and " +
    "change stored budgets. Processes are killed or stopped for longer than their lease, clocks are moved, connections to " +
    "PostgreSQL are closed or silent. What each call returned is noted with its beginning and its end. One serial order " +
    "explains all results: for the account and the stored budget of each caller, and for the order of its records. This holds " +
    "in memory, on SQLite and on PostgreSQL.",
  isParallel: true,
  async run(context) {
    const { drawRound, hasPostgres } = await loadRunner();
    const canUsePostgres = await hasPostgres();
    do await tryRound(drawRound(context.random, canUsePostgres), context);
    while (!context.isOver());
  },
  replay: tryRound,
  *shrink(round) {
    for (const at of round.faults.keys()) yield { ...round, faults: round.faults.toSpliced(at, 1) };
    if (round.processes > 1) yield { ...round, processes: round.processes - 1 };
    if (round.clients > 1) yield { ...round, clients: round.clients - 1 };
  },
};

async function tryRound(round: Round, context: PartContext<Round>): Promise<void> {
  context.begin(round);
  const { runRound, checkHistory } = await loadRunner();
  const { history, problems } = await runRound(round);
  const checked = checkHistory(history);
  context.count("calls", history.calls.length);
  context.count("faults", round.processes * round.faults.length);
  context.count("undecided objects", checked.undecided.length);
  for (const problem of [...problems, ...checked.problems]) {
    const [rule = ""] = problem.split(/: |\n/, 1);
    await context.report({ rule, input: round, seen: problem });
  }
}

/** Loaded on demand: every part loads this file, and the drivers of the databases take long to load. */
async function loadRunner() {
  const [{ drawRound }, { runRound }, { checkHistory }, { POSTGRES }, { findService }] = await Promise.all([
    import("@calotype/conformance/histories/draw-round"),
    import("@calotype/conformance/histories/run-round"),
    import("@calotype/conformance/histories/check-history"),
    import("@calotype/conformance/support/service"),
    import("../services.ts"),
  ]);
  const hasPostgres = async (): Promise<boolean> => (await findService(POSTGRES)) !== undefined;
  return { drawRound, runRound, checkHistory, hasPostgres };
}
