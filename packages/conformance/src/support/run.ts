import { spawnSync } from "node:child_process";
import { delimiter, dirname } from "node:path";

/** Runs a program and returns its output. Throws an error with the output if the program fails. */
export function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, PATH: PATH_WITH_THIS_NODE },
    // npm and npx are shell scripts on Windows.
    shell: process.platform === "win32",
  });
  if (error !== undefined) throw error;
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stdout}\n${stderr}`);
  return stdout;
}

/** The environment in which the Node of the tests is found first. */
const PATH_WITH_THIS_NODE = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
