import { untilRandomMoment } from "../crashes/kill-during-tasks.ts";
import { toProblems } from "../crashes/open-task-site.ts";
import { CALLERS } from "../crashes/server-plan.ts";
import { startTaskLoad } from "../crashes/start-task-load.ts";
import { watchBudget } from "../crashes/watch-budget.ts";
import { sweepInTurn, type TaskFleet } from "./open-task-fleet.ts";

/** The share of the gateways that get SIGTERM instead of SIGKILL. */
const ORDERLY = 0.2;

/**
 * Replaces one gateway of a fleet after the other, at random moments, while clients submit tasks and follow them from one
 * gateway to the next.
 *
 * @returns the errors of the gateways, and the moments at which a budget was overdrawn
 */
export async function killSomeDuringTasks(
  fleet: TaskFleet,
  kills: number,
  random: () => number,
): Promise<readonly string[]> {
  const problems: string[] = [];
  const watch = watchBudget(fleet.ledger, { id: "trial", budget: CALLERS.trial.budget });
  const stopSweeping = sweepInTurn(fleet);
  const load = startTaskLoad(fleet.nextUrl, "task", random);
  for (let kill = 1; kill <= kills; kill++) {
    const next = fleet.prepare();
    await untilRandomMoment(fleet, random);
    const place = Math.floor(random() * fleet.servers.length);
    const server = fleet.servers[place];
    if (random() < ORDERLY) await server?.stop();
    else await server?.kill();
    problems.push(...(server === undefined ? [] : toProblems(server)));
    fleet.servers[place] = await next.start(fleet.plan);
  }
  const { tasks, calls } = await load.stop();
  fleet.taskSightings.push(...tasks);
  fleet.sightings.push(...calls);
  await stopSweeping();
  return [...problems, ...(await watch.stop())];
}
