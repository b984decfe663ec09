import type { Lab, LoadRequest, Sample } from "./lab.ts";
import type { Target, TargetKind } from "./target.ts";
import type { Work } from "./works.ts";

/** The duration and number of measurements. */
export interface Effort {
  readonly rounds: number;
  /** No request of a round is started after this time, in seconds. */
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
}

/** The samples of one target, by round. */
export interface TargetSamples {
  readonly target: string;
  readonly samples: readonly Sample[];
}

/** The samples of one work. */
export interface WorkSamples {
  readonly work: string;
  readonly results: readonly TargetSamples[];
  /** Targets that failed the work before it was measured, with their error. */
  readonly failures: readonly { readonly target: string; readonly problem: string }[];
}

interface Candidate {
  readonly id: string;
  readonly target: Target;
  readonly samples: Sample[];
}

/**
 * Measures a work on each target, round by round in changing order. Every target is a new process. Before the
 * measurement, one response is compared byte by byte, and the process is warmed up.
 */
export async function measureWork(
  lab: Lab,
  { work, kinds, effort }: { work: Work; kinds: readonly TargetKind[]; effort: Effort },
): Promise<WorkSamples> {
  const candidates: Candidate[] = [];
  const failures: { target: string; problem: string }[] = [];
  try {
    for (const kind of kinds) {
      const target = await lab.start(kind);
      try {
        await prepare(lab, { target, work, effort });
        candidates.push({ id: kind.id, target, samples: [] });
      } catch (error) {
        await target.stop();
        // A failing target of others is left out of the table, with the reason. Our own targets must not fail.
        if (!kind.id.startsWith("portkey")) throw error;
        failures.push({ target: kind.id, problem: String(error) });
      }
    }
    // The first round does not count: targets that were idle while the next ones were warmed up have a smaller heap.
    for (let round = -1; round < effort.rounds; round++) {
      for (const { target, samples } of rotate(candidates, round + 1)) {
        const sample = await lab.measure(target, toRequest(work, effort.roundSeconds));
        if (round >= 0) samples.push(sample);
      }
    }
  } finally {
    await Promise.all(candidates.map(({ target }) => target.stop()));
  }
  const results = candidates.map(({ id, samples }) => ({ target: id, samples }));
  return { work: work.id, results, failures };
}

async function prepare(
  lab: Lab,
  { target, work, effort }: { target: Target; work: Work; effort: Effort },
): Promise<void> {
  await lab.tellUpstream({ compareUploads: true });
  await lab.load(target, { ...toRequest(work, effort.warmUpSeconds), kind: "compare" });
  await lab.tellUpstream({ compareUploads: false });
  const warmUp = toRequest(work, effort.warmUpSeconds);
  await lab.load(target, { ...warmUp, requests: work.warmUp });
}

function toRequest({ id, concurrency, requests }: Work, maxSeconds: number): LoadRequest {
  return { kind: "run", response: id, concurrency, requests, maxSeconds };
}

/** Each round starts with another target, and every other round runs backwards. */
function rotate<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % Math.max(1, items.length);
  const turned = [...items.slice(first), ...items.slice(0, first)];
  return round % 2 === 0 ? turned : turned.toReversed();
}
