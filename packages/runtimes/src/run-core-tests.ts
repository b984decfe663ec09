import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./folders.ts";
import { runProgram } from "./run-program.ts";
import type { Runtime } from "./runtime.ts";

/** How the tests of a package fared on a runtime. */
export interface TestResults {
  readonly passed: number;
  readonly skipped: number;
  /** Names of the tests that failed, and of the files that did not load, with their messages. */
  readonly failed: readonly string[];
}

/** Of vitest's JSON report, what is read here. */
interface VitestReport {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

const TIMEOUT_MS = 400_000;

/** Tests share a process, which halves the time; each may take longer, for the machine is shared too. */
const OPTIONS = ["--no-isolate", "--max-workers=2", "--test-timeout=30000", "--reporter=json"];

/** Runs the tests of `packages/core` on a runtime, with vitest. */
export async function runCoreTests(runtime: Runtime): Promise<TestResults> {
  const onBun = "--config=packages/runtimes/core-on-bun.config.ts";
  return await runTests(runtime, [runtime.kind === "bun" ? onBun : "--project=core"]);
}

/** Runs the tests that vitest finds with these arguments on a runtime. */
export async function runTests({ program }: Runtime, which: readonly string[]): Promise<TestResults> {
  const folder = await mkdtemp(join(tmpdir(), "calotype-tests-"));
  try {
    const file = join(folder, "report.json");
    const { errors, output } = await runProgram(
      program,
      ["node_modules/vitest/vitest.mjs", "run", ...which, ...OPTIONS, `--outputFile=${file}`],
      { cwd: ROOT, timeoutMs: TIMEOUT_MS },
    );
    const report = await readFile(file, "utf8").catch(() => {
      throw new Error(`vitest wrote no report in ${TIMEOUT_MS / 1_000} seconds:\n${output}\n${errors}`);
    });
    return summarize(JSON.parse(report));
  } finally {
    await rm(folder, { recursive: true });
  }
}

function summarize({ numPassedTests, numPendingTests, testResults }: VitestReport): TestResults {
  const broken = testResults.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.length === 0,
  );
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.filter(({ status }) => status === "failed");
  return {
    passed: numPassedTests,
    skipped: numPendingTests,
    failed: [
      ...broken.map(({ name, message }) => `${name}: ${message}`),
      ...failed.map(
        ({ fullName, failureMessages = [] }) => `${fullName}: ${firstLineOf(failureMessages[0])}`,
      ),
    ],
  };
}

function firstLineOf(message = ""): string {
  return message.split("\n")[0] ?? "";
}
