import { availableParallelism } from "node:os";
import type { BenchOptions } from "./command-line.ts";
import { type Lab, openLab } from "./lab.ts";
import { measureWork, type WorkSamples } from "./measure-work.ts";
import type { Results, ScenarioResult } from "./results.ts";
import { holdStreams } from "./scenarios/hold-streams.ts";
import { measureExpress } from "./scenarios/measure-express.ts";
import { measurePairs } from "./scenarios/measure-pairs.ts";
import { OTHER_KIND, TARGET_KINDS, type TargetKind } from "./target.ts";
import { WORKS, type WorkId } from "./works.ts";

/** Prints the progress of a run. */
export interface Progress {
  readonly say: (line: string) => void;
}

/** Runs the requested measurements one after another. */
export async function runBench(options: BenchOptions, command: string, { say }: Progress): Promise<Results> {
  const { kinds, skipped } = chooseTargets(options);
  for (const { target, why } of skipped) say(`without ${target}: ${why}`);
  const lab = await openLab();
  try {
    const works: WorkSamples[] = [];
    for (const work of WORKS.filter(({ id }) => options.works.includes(id))) {
      say(`${work.title} …`);
      const taking = kinds.filter(
        (kind) =>
          (kind.works?.includes(work.id) ?? true) && !(options.isQuick && isRepeated(kind.id, work.id)),
      );
      works.push(await measureWork(lab, { work, kinds: taking, effort: options.effort }));
    }
    return {
      date: new Date().toISOString(),
      command,
      node: process.versions.node,
      cores: availableParallelism(),
      isPinned: lab.cores.target !== undefined,
      rounds: options.effort.rounds,
      works,
      scenarios: options.withScenarios ? await runScenarios(lab, options, say) : [],
      skipped,
    };
  } finally {
    await lab.stop();
  }
}

async function runScenarios(
  lab: Lab,
  { effort }: BenchOptions,
  say: Progress["say"],
): Promise<ScenarioResult[]> {
  say("connections, callers, channels …");
  const pairs = await measurePairs(lab, effort);
  say("Express …");
  const express = await measureExpress(lab, effort);
  say("open streams …");
  return [...pairs, express, await holdStreams(lab, effort.rounds)];
}

function chooseTargets({ targets, isQuick, works, against }: BenchOptions): {
  kinds: TargetKind[];
  skipped: Results["skipped"];
} {
  const wanted = TARGET_KINDS.filter(
    ({ id }) => works.length > 0 && (targets?.includes(id) ?? !(isQuick && isSlow(id))),
  );
  const judged = wanted.map((kind) => ({ kind, why: kind.findObstacle(!isQuick) }));
  return {
    kinds: [
      ...judged.filter(({ why }) => why === undefined).map(({ kind }) => kind),
      ...(against === undefined ? [] : [OTHER_KIND]),
    ],
    skipped: judged.flatMap(({ kind, why }) => (why === undefined ? [] : [{ target: kind.title, why }])),
  };
}

/**
 * The costs of Express, nginx and a bare pipe are measured with the cheapest requests, where the differences are
 * clearest.
 */
const SHOWN_BY_SMALL: ReadonlySet<string> = new Set(["calotype-express", "nginx", "pipe"]);

function isRepeated(target: string, work: WorkId): boolean {
  // Portkey forwards uploads unchanged, which is slow.
  if (target === "portkey") return work === "edits" || work === "json-images";
  return SHOWN_BY_SMALL.has(target) && work !== "small";
}

/** Targets that a quick run omits, because similar targets are measured. */
function isSlow(id: string): boolean {
  return id === "naive" || id === "portkey-no-log";
}
