import type { Lab, LoadRequest } from "../lab.ts";
import type { Effort } from "../measure-work.ts";
import type { ScenarioResult } from "../results.ts";
import { medianOf } from "../statistics.ts";
import { TARGET_KINDS, type Target } from "../target.ts";

/**
 * Express adds a tenth to the cost of a request. Many short rounds measure this better than a few long ones, which
 * also measure other programs.
 */
const ROUNDS = 12;
const REQUESTS = 1_200;
const WARM_UP = 30_000;
const IDS = ["bare-node", "bare-express", "calotype-node", "calotype-express"] as const;

type Id = (typeof IDS)[number];

/**
 * The CPU time that Express adds to a request, for our gateway and for a server that only responds. Each value is
 * from separate processes, because two processes of the same program differ by nearly as much: V8 compiles different
 * functions at different moments.
 */
export async function measureExpress(lab: Lab, effort: Effort): Promise<ScenarioResult> {
  const bare: number[] = [];
  const ours: number[] = [];
  for (let count = 0; count < effort.rounds; count++) {
    const costs = await measureProcesses(lab, effort);
    bare.push(medianDifferenceOf(costs["bare-express"], costs["bare-node"]));
    ours.push(medianDifferenceOf(costs["calotype-express"], costs["calotype-node"]));
  }
  return {
    id: "express",
    title: "What Express adds to our gateway, relative to what it adds to a bare server",
    base: { title: "to a bare server", values: bare, unit: "ms" },
    other: { title: "to ours", values: ours, unit: "ms" },
  };
}

/** CPU time per request in milliseconds, by round, each from one process. */
async function measureProcesses(lab: Lab, effort: Effort): Promise<Record<Id, number[]>> {
  const costs: Record<Id, number[]> = {
    "bare-node": [],
    "bare-express": [],
    "calotype-node": [],
    "calotype-express": [],
  };
  const request = {
    kind: "run",
    response: "small",
    concurrency: 32,
    requests: REQUESTS,
    maxSeconds: effort.roundSeconds,
  } as const;
  const targets = new Map<Id, Target>();
  try {
    for (const id of IDS) targets.set(id, await startWarm(lab, id, { ...request, ...warmUpOf(effort) }));
    for (let round = 0; round < ROUNDS; round++) {
      const order = round % 2 === 0 ? [...targets] : [...targets].toReversed();
      for (const [id, target] of order) costs[id].push((await lab.measure(target, request)).cpuMs);
    }
  } finally {
    await Promise.all(Array.from(targets.values(), (target) => target.stop()));
  }
  return costs;
}

function warmUpOf({ warmUpSeconds }: Effort): Pick<LoadRequest, "requests" | "maxSeconds"> {
  return { requests: WARM_UP, maxSeconds: warmUpSeconds };
}

async function startWarm(lab: Lab, id: Id, warmUp: LoadRequest): Promise<Target> {
  const kind = TARGET_KINDS.find((other) => other.id === id);
  if (kind === undefined) throw new Error(`There is no ${id}.`);
  const target = await lab.start(kind);
  await lab.load(target, warmUp);
  return target;
}

/** The median of the differences of pairs, because what slows down a whole round affects both sides. */
function medianDifferenceOf(values: readonly number[], others: readonly number[]): number {
  return medianOf(values.map((value, index) => value - (others[index] ?? Number.NaN)));
}
