import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** How a program ended, and what it wrote. */
export interface ProgramEnd {
  /** `null` when it was killed for taking too long. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
}

export interface ProgramOptions {
  readonly cwd: string;
  readonly timeoutMs: number;
}

/** Runs a program to its end. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { cwd, timeoutMs }: ProgramOptions,
): Promise<ProgramEnd> {
  const child = spawn(program, args, {
    cwd,
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that its children can be killed too.
    detached: true,
  });
  const timer = setTimeout(() => killGroup(child.pid), timeoutMs);
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const [exitCode, output, errors] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
  clearTimeout(timer);
  return { exitCode, output, errors };
}

/** A runner of tests has processes that would go on without it, and hold its output open. */
function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, "SIGKILL");
  } catch {
    // It has ended in the meantime.
  }
}

/** The environment without what belongs to this process, or leads `fetch` away from loopback. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:NODE_(?!COMPILE_CACHE)|VITEST)|_proxy$/i.test(name),
  );
  return { ...Object.fromEntries(kept), DENO_NO_UPDATE_CHECK: "1" };
}
