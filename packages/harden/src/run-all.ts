import type { Part } from "./part.ts";
import type { Task, TaskResult } from "./run-part.ts";
import { runTask } from "./run-task.ts";

/** A whole run. */
export interface RunOptions {
  readonly parts: readonly Part[];
  readonly seed: number;
  readonly seconds: number;
  /** The number of processes that run at once. */
  readonly processes: number;
}

/** The result of one part, over all its processes. */
export interface PartResult extends TaskResult {
  readonly part: string;
}

/** Runs the parts in processes of their own, and adds up the results of each part. */
export async function runAll(options: RunOptions): Promise<readonly PartResult[]> {
  const waiting = planTasks(options);
  const done: { readonly task: Task; readonly result: TaskResult }[] = [];
  const work = async (): Promise<void> => {
    for (let task = waiting.shift(); task !== undefined; task = waiting.shift()) {
      done.push({ task, result: await runTask(task) });
    }
  };
  await Promise.all(Array.from({ length: options.processes }, work));
  return options.parts.map(({ name }) => {
    const results = done.filter(({ task }) => task.part === name).map(({ result }) => result);
    return {
      part: name,
      figures: sumFigures(results.map(({ figures }) => figures)),
      findings: results.flatMap(({ findings }) => findings),
    };
  });
}

/** One task for each part, or one for each process if the part is parallel. The longest tasks come first. */
function planTasks({ parts, seed, seconds, processes }: RunOptions): Task[] {
  const total = parts.reduce((sum, { weight = 1 }) => sum + weight, 0);
  const tasks = parts.flatMap(({ name, weight = 1, isParallel = false }) => {
    const of = isParallel ? processes : 1;
    // The parts share the time of all processes by weight.
    const share = (seconds * processes * weight) / total / of;
    return Array.from({ length: of }, (_, index) => ({
      part: name,
      seed: seed + index,
      seconds: Math.min(share, seconds),
      share: { index, of },
    }));
  });
  return tasks.toSorted((a, b) => b.seconds - a.seconds);
}

/** Adds up the figures of the same name. */
export function sumFigures(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const [figure, value] of all.flatMap(Object.entries<number>))
    sums[figure] = (sums[figure] ?? 0) + value;
  return sums;
}
