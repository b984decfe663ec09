import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** A program of this folder in a process of its own. */
export interface SourceProcess {
  readonly child: ChildProcess;
  /** Resolves when it wrote its first line, or ended without one. */
  readonly started: Promise<unknown>;
  /** The lines that it wrote, when it has ended, in whatever way. */
  readonly lines: Promise<readonly string[]>;
}

/** Starts a program of this folder. */
export function spawnSource(name: string, args: readonly (string | number)[]): SourceProcess {
  const flags = ["--disable-warning=ExperimentalWarning", "--import", pathOf("register-sources.ts")];
  const child = spawn(process.execPath, [...flags, pathOf(name), ...args.map(String)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const started = Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const lines = text(child.stdout).then((output) => output.split("\n").filter((line) => line !== ""));
  return { child, started, lines };
}
