import { setTimeout as sleep } from "node:timers/promises";
import { createSqliteLedger } from "@calotype/sqlite";
import { type TaskSite, toProblems } from "./open-task-site.ts";
import { CALLERS } from "./server-plan.ts";
import { startTaskLoad } from "./start-task-load.ts";
import { watchBudget } from "./watch-budget.ts";

/** Of the servers that get SIGTERM, in seconds. */
const DEADLINES = [0.05, 0.5] as const;
/** The share of the servers that get SIGTERM instead of SIGKILL. */
const ORDERLY = 0.2;

/**
 * Replaces a server again and again, at random moments, while clients submit tasks and follow them from one server to the
 * next. The last server is killed.
 *
 * @returns the errors of the servers, and the moments at which a budget was overdrawn
 */
export async function killDuringTasks(
  site: TaskSite,
  kills: number,
  random: () => number,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const deadlineSeconds = DEADLINES[random() < 0.5 ? 0 : 1];
  let server = await site.startServer({ deadlineSeconds });
  const ledger = createSqliteLedger({ path: site.ledgerPath });
  const watch = watchBudget(ledger, { id: "trial", budget: CALLERS.trial.budget });
  const load = startTaskLoad(() => server.url, "task", random);
  for (let kill = 1; kill <= kills; kill++) {
    await untilRandomMoment(site, random);
    const isOrderly = kill < kills && random() < ORDERLY;
    if (isOrderly) await server.stop();
    else await server.kill();
    // On a busy machine the deadline may end before the last records are delivered, which is logged.
    if (!isOrderly) problems.push(...toProblems(server));
    if (kill < kills) server = await site.startServer({ deadlineSeconds });
  }
  const { tasks, calls } = await load.stop();
  site.taskSightings.push(...tasks);
  site.sightings.push(...calls);
  problems.push(...(await watch.stop()));
  await ledger.close();
  return problems;
}

const PATIENCE_MS = 5_000;

/** Resolves soon after the start of a server, perhaps during its first sweep, or when the provider got some requests. */
export async function untilRandomMoment(
  { emulator }: Pick<TaskSite, "emulator">,
  random: () => number,
): Promise<void> {
  if (random() < 0.3) return await sleep(random() * 100);
  const wanted = emulator.requests.length + 2 + random() * 15;
  const deadline = performance.now() + PATIENCE_MS;
  while (emulator.requests.length < wanted && performance.now() < deadline) await sleep(5);
  await sleep(random() * 20);
}
