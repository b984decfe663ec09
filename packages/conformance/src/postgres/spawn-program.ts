import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** A program in a process of its own. */
export interface Program {
  readonly child: ChildProcess;
  /** Writes a line to it. */
  readonly tell: (line: string) => void;
  /** Resolves when it wrote something, or ended without. */
  readonly started: Promise<unknown>;
  /** What it wrote, when it has ended or was killed; rejects when it failed. */
  readonly output: Promise<string>;
}

/** Starts a program that Node can run as it is. */
export function spawnProgram(program: URL, args: readonly string[]): Program {
  const path = fileURLToPath(program);
  const child = spawn(process.execPath, [path, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const started = Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const ended = once(child, "close");
  const read = async (): Promise<string> => {
    const output = await text(child.stdout);
    await ended;
    // One that is killed has no exit code.
    if (child.exitCode !== null && child.exitCode !== 0) throw new Error(`${path} failed.`);
    return output;
  };
  return { child, tell: (line) => void child.stdin.write(`${line}\n`), started, output: read() };
}
