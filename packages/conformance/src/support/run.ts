import { spawnSync } from "node:child_process";
import { delimiter, dirname } from "node:path";

/** Runs a program to its end and gives what it printed; throws with all of it when it fails. */
export function run(program: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, PATH: PATH_WITH_THIS_NODE },
    // npm and npx are scripts of the shell there.
    shell: process.platform === "win32",
  });
  if (error !== undefined) throw error;
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stdout}\n${stderr}`);
  return stdout;
}

/** The Node that runs the tests comes first, whatever the machine has. */
const PATH_WITH_THIS_NODE = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
