import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** A program in a separate process. */
export interface Program {
  readonly child: ChildProcess;
  /** Writes a line to its standard input. */
  readonly tell: (line: string) => void;
  /** Resolves when the program has written something or has ended. */
  readonly started: Promise<unknown>;
  /** Resolves with the output when the program has ended or was killed. Rejects if it failed. */
  readonly output: Promise<string>;
}

/** Starts a program that Node can run without a build. */
export function spawnProgram(program: URL, args: readonly string[]): Program {
  const path = fileURLToPath(program);
  const child = spawn(process.execPath, [path, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  const started = Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  const ended = once(child, "close");
  const read = async (): Promise<string> => {
    const output = await text(child.stdout);
    await ended;
    // A killed process has no exit code.
    if (child.exitCode !== null && child.exitCode !== 0) throw new Error(`${path} failed.`);
    return output;
  };
  return { child, tell: (line) => void child.stdin.write(`${line}\n`), started, output: read() };
}
