import { join } from "node:path";
import type { PollerRound } from "@calotype/conformance/crashes/kill-pollers";
import type { Part, PartContext } from "../part.ts";

/** Kills on one ledger. The provider remembers the requests of this number of kills. */
const KILLS_PER_ROUND = 10;
const FEW_KILLS = 2;
const SHORT_RUN_MS = 20_000;
/** Speeds up the start of the servers. */
const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/compile");

/** SIGKILL of servers that wait for jobs of their providers. */
export const pollers: Part<PollerRound> = {
  name: "pollers",
  guarantees:
    "Kills servers at random moments while they submit jobs to BFL, fal, Replicate and a relay, and poll them, for " +
    "ordinary requests and for tasks. No job is submitted twice. Each job that was polled is in one settled record with " +
    "its images, also if another process ended it. A submission whose id was not stored is charged as lost, and no hold " +
    "is left. This holds on SQLite.",
  isParallel: true,
  async run(context) {
    process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE;
    const kills = context.msLeft() < SHORT_RUN_MS ? FEW_KILLS : KILLS_PER_ROUND;
    do {
      await tryRound({ seed: Math.floor(context.random() * 2 ** 31), kills }, context);
    } while (!context.isOver());
  },
  replay: tryRound,
  *shrink(round) {
    for (let fewer = 1; fewer < round.kills; fewer++) yield { ...round, kills: fewer };
  },
};

async function tryRound(round: PollerRound, context: PartContext<PollerRound>): Promise<void> {
  context.begin(round);
  // Loaded on demand, as every part loads this file.
  const { killPollers } = await import("@calotype/conformance/crashes/kill-pollers");
  const { problems, submitted } = await killPollers(round);
  context.count("kills", round.kills);
  context.count("jobs", submitted);
  for (const problem of problems) {
    const [rule = ""] = problem.split(": ", 1);
    await context.report({ rule, input: round, seen: problem });
  }
}
