import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** A program of this folder in a child process. */
export interface SourceProcess {
  readonly child: ChildProcess;
  /** Resolves when the program has printed its first line or has ended. */
  readonly started: Promise<unknown>;
  /** The printed lines, when the program has ended or was killed. Rejects if it failed. */
  readonly lines: Promise<readonly string[]>;
}

/** Starts a program of this folder. */
export function spawnSource(name: string, args: readonly (string | number)[]): SourceProcess {
  const flags = ["--disable-warning=ExperimentalWarning", "--import", pathOf("register-sources.ts")];
  const child = spawn(process.execPath, [...flags, pathOf(name), ...args.map(String)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const complaints = text(child.stderr);
  const started = Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const ended = once(child, "close");
  const readLines = async (): Promise<readonly string[]> => {
    const output = await text(child.stdout);
    await ended;
    // A killed process has no exit code.
    if (child.exitCode !== null && child.exitCode !== 0)
      throw new Error(`${name} failed:\n${await complaints}`);
    return output.split("\n").filter((line) => line !== "");
  };
  return { child, started, lines: readLines() };
}
