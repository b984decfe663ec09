import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Mutant } from "./draw-mutants.ts";
import { REACHED } from "./instrument.ts";
import { CACHE, runTests } from "./run-tests.ts";

/** Which test files reach which mutants. */
export interface TestMap {
  /** The test files that pass without a mutant, and how long they take. */
  readonly milliseconds: Readonly<Record<string, number>>;
  /** The test files that reach a mutant, by its id. */
  readonly tests: Readonly<Record<string, readonly string[]>>;
  /** The test files that reach any mutant of a source file. */
  readonly testsOfSources: Readonly<Record<string, readonly string[]>>;
}

export interface MapOptions {
  readonly root: string;
  /** Paths of test files or folders. */
  readonly tests: readonly string[];
  readonly mutants: readonly { readonly mutant: Mutant; readonly number: number }[];
  readonly processes: number;
  /** Where the map is kept. If there is one, no test runs. */
  readonly mapPath?: string | undefined;
  readonly print: (line: string) => void;
}

const TIMEOUT_MS = 45 * 60_000;

/** Runs all tests without a mutant. Test files that fail even so are left out. */
export async function readTestMap(options: MapOptions): Promise<TestMap> {
  const { root, tests, mutants, processes, mapPath, print } = options;
  if (mapPath !== undefined && existsSync(mapPath)) return JSON.parse(readFileSync(mapPath, "utf8"));
  const path = join(root, CACHE, "reached.txt");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "");
  const env = { [REACHED]: path };
  const files = await runTests({ root, tests, env, workers: processes, bail: false, timeoutMs: TIMEOUT_MS });
  if (files === undefined) throw new Error(`The tests did not end within ${TIMEOUT_MS} ms`);
  const failing = files.filter(({ failed }) => failed.length > 0);
  for (const file of failing)
    print(`Left out, since it fails without a mutant: ${file.path} > ${file.failed[0]}`);
  const passing = files.filter(({ failed }) => failed.length === 0);
  const map = toMap(readFileSync(path, "utf8"), mutants, passing);
  if (mapPath !== undefined) writeFileSync(mapPath, JSON.stringify(map));
  return map;
}

function toMap(
  reached: string,
  mutants: MapOptions["mutants"],
  passing: readonly { readonly path: string; readonly milliseconds: number }[],
): TestMap {
  const milliseconds = Object.fromEntries(passing.map((file) => [file.path, file.milliseconds]));
  const byNumber = new Map(mutants.map(({ mutant, number }) => [String(number), mutant]));
  const tests = new Map<string, Set<string>>();
  const testsOfSources = new Map<string, Set<string>>();
  for (const line of reached.split("\n")) {
    const [number = "", test = ""] = line.split(" ");
    const mutant = byNumber.get(number);
    if (mutant === undefined || !(test in milliseconds)) continue;
    tests.set(mutant.id, (tests.get(mutant.id) ?? new Set()).add(test));
    testsOfSources.set(mutant.file, (testsOfSources.get(mutant.file) ?? new Set()).add(test));
  }
  return { milliseconds, tests: toRecord(tests), testsOfSources: toRecord(testsOfSources) };
}

const toRecord = (sets: ReadonlyMap<string, ReadonlySet<string>>): Record<string, string[]> =>
  Object.fromEntries([...sets].map(([key, values]) => [key, [...values]]));

/**
 * The test files for a mutant, the nearest and quickest first. Code of a module runs only for the first test file of a process,
 * so it is not known which others it would fail: they all run. So do all that reach the source file, if the map was made
 * without the mutant.
 */
export function chooseTests({ milliseconds, tests, testsOfSources }: TestMap, mutant: Mutant): string[] {
  const own = new Set(tests[mutant.id] ?? testsOfSources[mutant.file]);
  const folder = dirname(mutant.file);
  const rank = (path: string): number => (own.has(path) ? 0 : 2) + (dirname(path) === folder ? 0 : 1);
  return Object.keys(milliseconds)
    .filter((path) => mutant.isStatic || own.has(path))
    .toSorted((a, b) => rank(a) - rank(b) || (milliseconds[a] ?? 0) - (milliseconds[b] ?? 0));
}
