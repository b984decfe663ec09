import { spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";

/** The core of each side. `undefined`: the system decides. */
export interface Cores {
  readonly target: number | undefined;
  readonly upstream: number | undefined;
  readonly load: number | undefined;
}

/** The target has its own core. Upstream and load share the other one if there are only two. */
export function chooseCores(): Cores {
  const count = availableParallelism();
  const canPin = spawnSync("taskset", ["--version"]).status === 0;
  if (count < 2 || !canPin) return { target: undefined, upstream: undefined, load: undefined };
  return { target: 1, upstream: 0, load: count > 2 ? 2 : 0 };
}

/** The command that runs a program on one core. */
export function pinTo(core: number | undefined, command: readonly string[]): string[] {
  return core === undefined ? [...command] : ["taskset", "-c", String(core), ...command];
}
