import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import type { Runtime } from "./runtime.ts";

/** Come with `pnpm install` on x64 Linux, as optional dependencies of this package. */
const INSTALLED = {
  "Node 22": { kind: "node", file: "node22-linux-x64/bin/node" },
  Bun: { kind: "bun", file: "@oven/bun-linux-x64/bin/bun" },
} as const;

/** A runtime that the tests of the workspace use. */
export interface InstalledRuntime extends Runtime {
  /** Why its tests are skipped; never in CI on x64 Linux, where one that is not there is a failure. */
  readonly leftOut: string | undefined;
}

/** The runtime of this name, as it was installed. */
export function findInstalled(name: keyof typeof INSTALLED): InstalledRuntime {
  const { kind, file } = INSTALLED[name];
  const program = resolve(file) ?? file;
  const starts = spawnSync(program, ["--version"]).status === 0;
  const where = `${process.platform} on ${process.arch}`;
  return { kind, name, program, leftOut: starts || isCi() ? undefined : `no ${name} for ${where}` };
}

/** True where all that can be tested is. */
function isCi(): boolean {
  return process.env["CI"] === "true" && process.platform === "linux" && process.arch === "x64";
}

function resolve(file: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(file);
  } catch {
    return undefined;
  }
}
