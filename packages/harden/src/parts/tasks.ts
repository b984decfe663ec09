import { join } from "node:path";
import { chance, pick } from "../grammar/draw.ts";
import type { Part, PartContext } from "../part.ts";
import type { TaskRound } from "./tasks/run-task-round.ts";

/** Kills on one ledger. A short run uses one server process at a time. The provider remembers the requests of this number of kills. */
const KILLS_PER_ROUND = 12;
const FEW_KILLS = 2;
const SHORT_RUN_MS = 20_000;
/** Speeds up the start of the servers. */
const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/compile");

/** SIGKILL and SIGTERM of servers with tasks. */
export const tasks: Part<TaskRound> = {
  name: "tasks",
  guarantees:
    "Kills servers at random moments while clients submit tasks, repeat, follow and cancel them; some get " +
    "SIGTERM. Every task ends in exactly one state, whether or not its client got the 202. No prompt reaches the " +
    "provider twice. The charges match the images that were made, no hold is left, no budget is overdrawn, and each " +
    "webhook arrives. This holds for one process on SQLite, and for four on PostgreSQL with Redis.",
  isParallel: true,
  async run(context) {
    process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE;
    const isShort = context.msLeft() < SHORT_RUN_MS;
    const { findTaskLedgers } = await loadRunner();
    const ledgers = isShort ? (["sqlite"] as const) : await findTaskLedgers();
    const kills = isShort ? FEW_KILLS : KILLS_PER_ROUND;
    const { random } = context;
    do {
      const ledger = pick(random, ledgers);
      const onLost = chance(random, 0.5) ? "release" : "charge";
      const seed = Math.floor(random() * 2 ** 31);
      await tryRound({ ledger, onLost, seed, kills }, context);
    } while (!context.isOver());
  },
  replay: tryRound,
  *shrink(round) {
    for (let fewer = 1; fewer < round.kills; fewer++) yield { ...round, kills: fewer };
  },
};

async function tryRound(round: TaskRound, context: PartContext<TaskRound>): Promise<void> {
  context.begin(round);
  const { runTaskRound } = await loadRunner();
  const outcome = await runTaskRound(round);
  context.count("kills", round.kills);
  context.count("tasks", outcome.tasks);
  for (const problem of outcome.problems) {
    await context.report({ rule: toRule(problem), input: round, seen: problem });
  }
}

/** A problem without the details of its task. */
function toRule(problem: string): string {
  const [rule = ""] = problem.split(": ", 1);
  return rule.replaceAll(/\d[\d.]*/g, "N").slice(0, 120);
}

/** Loaded on demand: every part loads this file, and the drivers of the databases take long to load. */
const loadRunner = () => import("./tasks/run-task-round.ts");
