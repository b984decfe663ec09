import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mutant } from "./draw-mutants.ts";
import { ACTIVE, REACHED } from "./instrument.ts";
import { CACHE, runTests, type TestFile } from "./run-tests.ts";

export interface Fate {
  readonly mutant: Mutant;
  readonly number: number;
  /** What caught it: a test, or `time` if its tests did not end. `undefined`: it survived. */
  readonly caughtBy?: string;
  /** The number of test files that ran with it, or would have run. */
  readonly tests: number;
}

export interface Round {
  /** Where the mutants are instrumented. */
  readonly root: string;
  /** Paths of test files or folders. */
  readonly tests: readonly string[];
  readonly mutants: readonly { readonly mutant: Mutant; readonly number: number }[];
  readonly processes: number;
  readonly print: (line: string) => void;
}

/** So many test files run before all others that reach a mutant: those next to it, then the quickest. */
const NEAR = 12;
const DRY_RUN_MS = 45 * 60_000;

/** Runs each mutant with the tests that reach it. A run without mutants shows which these are. */
export async function runMutants(round: Round): Promise<Fate[]> {
  const { root, mutants, processes, print } = round;
  const { files, reached } = await runDry(round);
  const fates: Fate[] = [];
  const queue = [...mutants];
  await Promise.all(Array.from({ length: processes }, runNext));
  return fates.toSorted((a, b) => a.number - b.number);

  async function runNext(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { mutant, number } = next;
      const tests = choose(mutant, number);
      const caughtBy = await findTest(number, tests);
      fates.push({ mutant, number, tests: tests.length, ...(caughtBy === undefined ? {} : { caughtBy }) });
      print(`${fates.length}/${mutants.length} ${describe(mutant)}: ${caughtBy ?? "SURVIVED"}`);
    }
  }

  /** The test files that reach a mutant, the nearest and quickest first. Module code runs only for the first file of a process. */
  function choose(mutant: Mutant, number: number): TestFile[] {
    const own = reached.get(number) ?? new Set();
    const folder = dirname(mutant.file);
    const rank = ({ path }: TestFile): number => (own.has(path) ? 0 : 2) + (dirname(path) === folder ? 0 : 1);
    return files
      .filter(({ path }) => mutant.isStatic || own.has(path))
      .toSorted((a, b) => rank(a) - rank(b) || a.milliseconds - b.milliseconds);
  }

  async function findTest(number: number, tests: readonly TestFile[]): Promise<string | undefined> {
    for (const part of [tests.slice(0, NEAR), tests.slice(NEAR)]) {
      if (part.length === 0) continue;
      const result = await runTests({
        root,
        tests: part.map(({ path }) => path),
        env: { [ACTIVE]: String(number) },
        workers: 1,
        bail: true,
        timeoutMs: 30_000 + 3 * part.reduce((sum, { milliseconds }) => sum + milliseconds, 0),
      });
      if (result === undefined) return "time";
      const found = result.find(({ failed }) => failed.length > 0);
      if (found !== undefined) return `${found.path} > ${found.failed[0]}`;
    }
    return undefined;
  }
}

/** Runs all tests without a mutant. Test files that fail even so are left out. */
async function runDry({ root, tests, processes, print }: Round) {
  const path = join(root, CACHE, "reached.txt");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  const files = await runTests({
    root,
    tests,
    env: { [REACHED]: path },
    workers: processes,
    bail: false,
    timeoutMs: DRY_RUN_MS,
  });
  if (files === undefined) throw new Error(`The tests did not end within ${DRY_RUN_MS} ms`);
  const failing = files.filter(({ failed }) => failed.length > 0);
  for (const file of failing)
    print(`Left out, since it fails without a mutant: ${file.path} > ${file.failed[0]}`);
  const reached = new Map<number, Set<string>>();
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [number = "", test = ""] = line.split(" ");
    if (test === "") continue;
    const own = reached.get(Number(number)) ?? new Set();
    reached.set(Number(number), own.add(test));
  }
  return { files: files.filter(({ failed }) => failed.length === 0), reached };
}

export const describe = ({ id, file, line, original, code }: Mutant): string =>
  `${id} ${file}:${line}: ${shorten(original)} → ${code === ";" ? "nothing" : shorten(code)}`;

function shorten(code: string): string {
  const line = code.replaceAll(/\s+/g, " ");
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}
