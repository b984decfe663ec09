import { killDuringTasks } from "@calotype/conformance/crashes/kill-during-tasks";
import { FAULTS } from "@calotype/conformance/crashes/kill-under-load";
import { endTasks, openTaskSite } from "@calotype/conformance/crashes/open-task-site";
import { createRandom } from "@calotype/conformance/crashes/seeded-random";
import { FAULTS as FLEET_FAULTS } from "@calotype/conformance/fleet/kill-one";
import { killSomeDuringTasks } from "@calotype/conformance/fleet/kill-one-during-tasks";
import { endFleetTasks, openTaskFleet } from "@calotype/conformance/fleet/open-task-fleet";
import { POSTGRES, REDIS, urlOf } from "@calotype/conformance/support/service";
import type { LostPolicy } from "@calotype/core/billing";
import { findService } from "../../services.ts";

/** Some kills on one ledger with tasks. The seed decides the load and the moments, but not what a server does then. */
export interface TaskRound {
  /** One server on SQLite, or four that share a PostgreSQL and a Redis. */
  readonly ledger: "sqlite" | "postgres";
  readonly onLost: LostPolicy;
  readonly seed: number;
  readonly kills: number;
}

/** The result of a round. */
export interface TaskOutcome {
  /** What is wrong with tasks, records, balances and webhooks, with details. */
  readonly problems: readonly string[];
  /** The number of tasks. */
  readonly tasks: number;
}

/** The available ledgers. */
export async function findTaskLedgers(): Promise<readonly TaskRound["ledger"][]> {
  const hasFleet = (await findService(REDIS)) !== undefined && (await findService(POSTGRES)) !== undefined;
  return hasFleet ? ["sqlite", "postgres"] : ["sqlite"];
}

/** Kills one server after the other while clients submit tasks, and checks the ledger when all tasks have ended. */
export function runTaskRound(round: TaskRound): Promise<TaskOutcome> {
  return round.ledger === "sqlite" ? killOnSqlite(round) : killInFleet(round);
}

const PROCESSES = 4;

async function killInFleet({ onLost, seed, kills }: TaskRound): Promise<TaskOutcome> {
  const services = { redisUrl: urlOf(REDIS), postgresUrl: urlOf(POSTGRES) };
  const fleet = await openTaskFleet(services, { processes: PROCESSES, onLost, seed });
  try {
    fleet.emulator.faults.add(...FLEET_FAULTS);
    const errors = await killSomeDuringTasks(fleet, kills, createRandom(seed));
    const { problems } = await endFleetTasks(fleet);
    return { problems: [...errors, ...problems], tasks: fleet.taskSightings.length };
  } finally {
    await fleet.close();
  }
}

async function killOnSqlite({ onLost, seed, kills }: TaskRound): Promise<TaskOutcome> {
  const site = await openTaskSite(onLost, seed);
  try {
    site.emulator.faults.add(...FAULTS);
    const errors = await killDuringTasks(site, kills, createRandom(seed));
    const { problems } = await endTasks(site);
    return { problems: [...errors, ...problems], tasks: site.taskSightings.length };
  } finally {
    await site.close();
  }
}
