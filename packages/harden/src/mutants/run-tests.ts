import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** The environment variable with the test files in the order in which they run. */
export const ORDER = "MUTANTS_ORDER";
/** The environment variable with the path of the report. */
export const REPORT = "MUTANTS_REPORT";
/** The folder of vitest's caches in the copy. */
export const CACHE = ".mutants-cache";

export interface TestFile {
  /** From the root. */
  readonly path: string;
  readonly milliseconds: number;
  /** The tests that failed, or the file itself. */
  readonly failed: readonly string[];
}

export interface TestRun {
  readonly root: string;
  /** Paths of files or folders. */
  readonly tests: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workers: number;
  /** Whether the first failure ends the run. */
  readonly bail: boolean;
  readonly timeoutMs: number;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const CONFIG = join(import.meta.dirname, "mutants.config.ts");
let runs = 0;

/** Runs tests in a process group of their own. `undefined`: it has not ended in time and was killed. */
export async function runTests(run: TestRun): Promise<readonly TestFile[] | undefined> {
  const { root, tests, timeoutMs } = run;
  const report = join(root, CACHE, `report-${process.pid}-${runs++}.json`);
  const options = ["run", "--config", CONFIG, "--root", root, "--maxWorkers", String(run.workers)];
  const child = spawn(
    process.execPath,
    [
      join(root, "node_modules/vitest/vitest.mjs"),
      ...options,
      ...(run.bail ? ["--bail", "1"] : []),
      ...tests,
    ],
    {
      cwd: root,
      env: { ...process.env, ...run.env, [ORDER]: tests.join(","), [REPORT]: report },
      stdio: ["ignore", "ignore", "ignore"],
      detached: true,
    },
  );
  const timer = new AbortController();
  const isLate = await Promise.race([
    once(child, "exit").then(() => false),
    wait(timeoutMs, true, { signal: timer.signal }),
  ]);
  timer.abort();
  // Also after a normal end: a test that failed may leave processes of its own.
  endGroup(child.pid);
  if (isLate) return undefined;
  const { testResults }: Report = JSON.parse(readFileSync(report, "utf8"));
  rmSync(report);
  return testResults.map(({ name, status, startTime, endTime, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === "failed").map((test) => test.fullName);
    return {
      path: relative(root, name),
      milliseconds: endTime - startTime,
      failed: failed.length === 0 && status === "failed" ? ["the file itself"] : failed,
    };
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) throw new Error("vitest did not start");
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
