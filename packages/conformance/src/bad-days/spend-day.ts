import { vi } from "vitest";
import { findProblems } from "../crashes/find-problems.js";
import { createRandom } from "../crashes/seeded-random.js";
import { SEEDREAM_SERIES } from "../crashes/server-plan.js";
import { startLoad } from "../crashes/start-load.js";
import { startTaskLoad } from "../crashes/start-task-load.js";
import { call } from "../fleet/call-fleet.js";
import { type Fleet, openFleet, type Place } from "../fleet/open-fleet.js";
import { endFleetTasks, openTaskFleet, sweepInTurn } from "../fleet/open-task-fleet.js";
import { SEED } from "../support/test-run.js";

/** What a bad day has done to the requests of a fleet under load, and to their money. */
export interface DayReport {
  readonly figures: DayFigures;
  /** What is wrong besides that. */
  readonly problems: readonly string[];
  /** The errors that the gateways logged. */
  readonly errors: readonly string[];
}

/** Numbers of requests, unless they say otherwise. */
export interface DayFigures {
  readonly requests: number;
  /** Requests whose clients got their images. */
  readonly served: number;
  /** Requests that were refused with a 503. */
  readonly refused: number;
  /** Those of them without `Retry-After`. */
  readonly withoutRetryAfter: number;
  /** Responses that broke off, without those of clients that left. */
  readonly broken: number;
  /** Records in the ledger in the end. */
  readonly records: number;
  /** Requests that reached their provider and are not charged. */
  readonly lost: number;
  /** Requests that are charged twice. */
  readonly doubled: number;
  /** Callers for whom money is held although no request is in progress. */
  readonly stuck: number;
  /** How long after the bad day a request was served again, in seconds. */
  readonly recoverySeconds: number;
}

/** A bad day for a fleet. */
export interface DayPlan {
  readonly place: Place;
  /** What happens while clients send requests. */
  readonly happen: (fleet: Fleet) => Promise<void>;
  /** Command-line flags of Node for the gateways. */
  readonly flags?: readonly string[];
}

const PROCESSES = 2;
/** How long a provider takes, so that requests are in progress at every moment. */
const PROVIDER_MS = 250;

/**
 * Lets a bad day happen to two gateways under load, with eight clients. Then clients send some more requests, the gateways end, and a
 * sweep ends what they held. At last the ledger is compared with what the clients and the provider saw.
 */
export async function spendDay({ place, happen, flags }: DayPlan): Promise<DayReport> {
  const fleet = await openFleet(PROCESSES, place, {}, flags);
  try {
    fleet.emulator.faults.add({ latencyMs: PROVIDER_MS });
    const load = startLoad(fleet.nextUrl, "day", createRandom(SEED));
    await untilSent(fleet);
    await happen(fleet);
    const recoverySeconds = await untilServing(fleet);
    await untilSent(fleet);
    fleet.sightings.push(...(await load.stop()));
    const codes = await Promise.all(fleet.servers.map((server) => server.stop()));
    await fleet.ledger.sweep({ onLost: fleet.onLost });
    const { figures, problems } = await judge(fleet);
    const endings = codes.flatMap((code) => (code === 0 ? [] : [`A gateway ended with ${code}`]));
    return {
      figures: { ...figures, recoverySeconds },
      problems: [...problems, ...endings],
      errors: fleet.servers.flatMap((server) => server.errors()),
    };
  } finally {
    await fleet.close();
  }
}

/** The same with clients that submit tasks, most of which follow them until they end. Each task must end, also after the bad day. */
export async function spendDayWithTasks({ place, happen }: Omit<DayPlan, "flags">): Promise<DayReport> {
  const options = { processes: PROCESSES, onLost: "release", seed: SEED } as const;
  const fleet = await openTaskFleet(place, options);
  try {
    fleet.emulator.faults.add({ latencyMs: PROVIDER_MS });
    const stopSweeping = sweepInTurn(fleet);
    const load = startTaskLoad(fleet.nextUrl, "day", createRandom(SEED));
    await untilSent(fleet);
    await happen(fleet);
    const recoverySeconds = await untilServing(fleet);
    await untilSent(fleet);
    const { tasks, calls } = await load.stop();
    fleet.taskSightings.push(...tasks);
    fleet.sightings.push(...calls);
    await stopSweeping();
    const { counted, problems } = await endFleetTasks(fleet);
    const { figures } = await judge(fleet);
    const errors = fleet.servers.flatMap((server) => server.errors());
    return {
      figures: {
        ...figures,
        requests: figures.requests + tasks.length,
        served: figures.served + (counted["completed"] ?? 0),
        recoverySeconds,
      },
      // The gateways log that the ledger failed.
      problems: problems.filter((problem) => !problem.startsWith("A server logged") && !isOfProber(problem)),
      errors,
    };
  } finally {
    await fleet.close();
  }
}

/** Resolves when the provider has got some more requests. */
async function untilSent({ emulator: { requests } }: Fleet): Promise<void> {
  const enough = requests.length + 40;
  await vi.waitUntil(() => requests.length >= enough, { timeout: 60_000, interval: 20 });
}

/** Resolves when all gateways serve requests, and returns the seconds until then. */
async function untilServing({ servers }: Fleet): Promise<number> {
  const startedAt = performance.now();
  await vi.waitUntil(async () => (await Promise.all(servers.map(isServing))).every(Boolean), {
    timeout: 60_000,
    interval: 50,
  });
  return Math.round((performance.now() - startedAt) / 100) / 10;
}

/** The caller whose requests look whether the gateways serve again. */
const PROBER = "by-places";

async function isServing({ url }: { readonly url: string }): Promise<boolean> {
  const { status } = await call(url, { caller: PROBER, model: `${SEEDREAM_SERIES}probe` });
  return status === 200;
}

/** The requests that looked whether the gateways serve again are not among the sightings. */
function isOfProber(problem: string): boolean {
  return problem.startsWith("Nobody asked for") && problem.includes(`"caller":"${PROBER}"`);
}

const LOST = /left no record|had a complete response and is unresolved/;
const DOUBLED = /has more than one record/;

async function judge(fleet: Fleet): Promise<{
  readonly figures: Omit<DayFigures, "recoverySeconds">;
  readonly problems: readonly string[];
}> {
  const { sightings } = fleet;
  const content = await fleet.readLedger();
  const records = content.records.filter(({ caller }) => caller !== PROBER);
  const problems = findProblems(fleet, content).filter((problem) => !isOfProber(problem));
  const ends = sightings.flatMap(({ end }) => end ?? []);
  const refusals = ends.filter(({ status }) => status === 503);
  const held = Object.values(content.balances).filter((balance) => balance.held !== "0");
  const figures = {
    requests: sightings.length,
    served: ends.filter(({ status, isFailure }) => status === 200 && !isFailure).length,
    refused: refusals.length,
    withoutRetryAfter: refusals.filter(({ retryAfter }) => retryAfter === undefined).length,
    broken: sightings.filter(({ end, leaveAfterMs }) => end === undefined && leaveAfterMs === undefined)
      .length,
    records: records.length,
    lost: problems.filter((problem) => LOST.test(problem)).length,
    doubled: problems.filter((problem) => DOUBLED.test(problem)).length,
    stuck: held.length,
  };
  return {
    figures,
    problems: problems.filter((problem) => !LOST.test(problem) && !DOUBLED.test(problem)),
  };
}
