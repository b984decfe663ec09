import type { Lab, LoadRequest, Sample } from "./lab.ts";
import type { Target, TargetKind } from "./target.ts";
import type { Work } from "./works.ts";

/** How long and how often. */
export interface Effort {
  readonly rounds: number;
  /** No request of a round is begun after so many seconds. */
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
  /** Targets that failed the work before it was measured, with what they said. */
  readonly failures: readonly { readonly target: string; readonly problem: string }[];
}

interface Candidate {
  readonly id: string;
  readonly target: Target;
  readonly samples: Sample[];
}

/**
 * Measures a work on each target, round by round in changing order. Every target is a fresh process, compared
 * once
 * byte by byte and warmed up before.
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
        // A stranger that fails is left out of the table with its reason; one of ours must not fail.
        if (!kind.id.startsWith("portkey")) throw error;
        failures.push({ target: kind.id, problem: String(error) });
      }
    }
    for (let round = 0; round < effort.rounds; round++) {
      for (const { target, samples } of rotate(candidates, round)) {
        samples.push(await lab.measure(target, toRequest(work, effort.roundSeconds)));
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

/** Another one first in each round, and every other round backwards. */
function rotate<Item>(items: readonly Item[], round: number): Item[] {
  const first = round % Math.max(1, items.length);
  const turned = [...items.slice(first), ...items.slice(0, first)];
  return round % 2 === 0 ? turned : turned.toReversed();
}
