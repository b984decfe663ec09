import type { Lab, LoadRequest } from "../lab.ts";
import type { Effort } from "../measure-work.ts";
import type { ScenarioResult, ScenarioSide } from "../results.ts";
import { type StartContext, TARGET_KINDS, type Target } from "../target.ts";

/** How a target is started and loaded on one side of a comparison. */
interface Side {
  readonly title: string;
  readonly start?: Partial<StartContext>;
  readonly load: { readonly concurrency: number; readonly callers?: number };
}

/** Two ways to use one target, whose CPU per request is compared. */
interface Pair {
  readonly id: string;
  readonly title: string;
  readonly base: Side;
  readonly other: Side;
}

const USUAL: Side = { title: "1 caller, 1 channel, 32 connections", load: { concurrency: 32 } };

const PAIRS: readonly Pair[] = [
  {
    id: "connections",
    title: "CPU at 1,000 connections over 32",
    base: USUAL,
    other: { title: "1,000 connections", load: { concurrency: 1_000 } },
  },
  {
    id: "callers",
    title: "CPU with 10,000 callers over 1",
    base: USUAL,
    other: {
      title: "10,000 callers",
      start: { callers: 10_000 },
      load: { concurrency: 32, callers: 10_000 },
    },
  },
  {
    id: "channels",
    title: "CPU with 500 channels over 1",
    base: USUAL,
    other: { title: "500 channels", start: { channels: 500 }, load: { concurrency: 32 } },
  },
];

const REQUESTS = 8_000;
const WARM_UP = 12_000;

/** Small JSON with few and with many connections, callers and channels. */
export async function measurePairs(lab: Lab, effort: Effort): Promise<ScenarioResult[]> {
  const results: ScenarioResult[] = [];
  for (const pair of PAIRS) results.push(await measurePair(lab, pair, effort));
  return results;
}

async function measurePair(lab: Lab, pair: Pair, effort: Effort): Promise<ScenarioResult> {
  const base = await prepare(lab, pair.base, effort);
  const other = await prepare(lab, pair.other, effort);
  try {
    for (let round = 0; round < effort.rounds; round++) {
      const order = round % 2 === 0 ? [base, other] : [other, base];
      for (const { target, request, values } of order) {
        values.push((await lab.measure(target, request)).cpuMs);
      }
    }
  } finally {
    await Promise.all([base.target.stop(), other.target.stop()]);
  }
  return { id: pair.id, title: pair.title, base: toSide(base), other: toSide(other) };
}

interface Prepared {
  readonly title: string;
  readonly target: Target;
  readonly request: LoadRequest;
  readonly values: number[];
}

async function prepare(lab: Lab, { title, start, load }: Side, effort: Effort): Promise<Prepared> {
  const kind = TARGET_KINDS.find(({ id }) => id === "calotype-node");
  if (kind === undefined) throw new Error("There is no calotype-node.");
  const target = await lab.start(kind, start);
  const request = {
    kind: "run",
    response: "small",
    requests: REQUESTS,
    maxSeconds: effort.roundSeconds,
    ...load,
  } as const;
  // At least one request per caller, because its first request creates its entries.
  await lab.load(target, { ...request, requests: WARM_UP, maxSeconds: effort.warmUpSeconds });
  return { title, target, request, values: [] };
}

function toSide({ title, values }: Prepared): ScenarioSide {
  return { title, values, unit: "ms" };
}
