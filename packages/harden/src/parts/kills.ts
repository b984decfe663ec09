import { join } from "node:path";
import { chance, pick } from "../grammar/draw.ts";
import type { Part, PartContext } from "../part.ts";
import type { KillRound } from "./kills/run-round.ts";

/** Kills on one ledger. The provider remembers the requests of this number of kills. */
const KILLS_PER_ROUND = 6;
/** Kills on one ledger in a short run, which uses one server process at a time. */
const FEW_KILLS = 2;
const SHORT_RUN_MS = 20_000;
/** Speeds up the start of the servers. */
const COMPILE_CACHE = join(import.meta.dirname, "../../node_modules/.cache/compile");

/** SIGKILL of servers under load. */
export const kills: Part<KillRound> = {
  name: "kills",
  guarantees:
    "Kills a server with SIGKILL at random moments. No charge is lost and none is made twice. After the next " +
    "start no hold is left, and the ledger's charges match the images that clients got or the provider made. " +
    "This holds for one process and for four, on SQLite and on PostgreSQL with Redis.",
  weight: 1,
  isParallel: true,
  async run(context) {
    process.env["NODE_COMPILE_CACHE"] ??= COMPILE_CACHE;
    const isShort = context.msLeft() < SHORT_RUN_MS;
    const { findKinds } = await loadRunner();
    const kinds = (await findKinds()).filter(([, processes]) => !isShort || processes === 1);
    const { random } = context;
    const count = isShort ? FEW_KILLS : KILLS_PER_ROUND;
    do {
      const [ledger, processes] = pick(random, kinds);
      const onLost = chance(random, 0.5) ? "release" : "charge";
      const seed = Math.floor(random() * 2 ** 31);
      await tryRound({ ledger, processes, onLost, seed, kills: count }, context);
    } while (!context.isOver());
  },
  replay: tryRound,
  *shrink(round) {
    for (let fewer = 1; fewer < round.kills; fewer++) yield { ...round, kills: fewer };
  },
};

async function tryRound(round: KillRound, context: PartContext<KillRound>): Promise<void> {
  context.begin(round);
  const { runRound } = await loadRunner();
  const { problems, requests } = await runRound(round);
  context.count("kills", round.kills);
  context.count("requests", requests);
  for (const problem of problems) {
    await context.report({ rule: toRule(problem), input: round, seen: problem });
  }
}

/** A problem without the details of its request. */
function toRule(problem: string): string {
  const [rule = ""] = problem.split(": ", 1);
  return rule.replaceAll(/\d[\d.]*/g, "N").slice(0, 120);
}

/** Loaded on demand: every part loads this file, and the drivers of the databases take long to load. */
const loadRunner = () => import("./kills/run-round.ts");
