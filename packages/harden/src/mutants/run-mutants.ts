import type { Mutant } from "./draw-mutants.ts";
import { ACTIVE } from "./instrument.ts";
import { runTests } from "./run-tests.ts";
import { chooseTests, type MapOptions, readTestMap } from "./test-map.ts";

/** What became of a mutant. */
export interface Fate {
  readonly mutant: Mutant;
  readonly number: number;
  /** The test file that caught it. `undefined`: it survived. */
  readonly caughtBy: string | undefined;
  /** The test, or that the file did not end in time. */
  readonly test: string | undefined;
  /** How many test files reach it. */
  readonly tests: number;
}

/** So many test files run before all others that reach a mutant: those next to it, then the quickest. */
const NEAR = 12;

/** Runs each mutant with the tests that reach it, until one fails. */
export async function runMutants(options: MapOptions): Promise<Fate[]> {
  const { root, mutants, processes, print } = options;
  const map = await readTestMap(options);
  const timeOf = (tests: readonly string[]): number =>
    30_000 + 3 * tests.reduce((sum, path) => sum + (map.milliseconds[path] ?? 0), 0);
  const fates: Fate[] = [];
  const queue = [...mutants];
  await Promise.all(Array.from({ length: processes }, runNext));
  await checkCatchers();
  return fates.toSorted((a, b) => a.number - b.number);

  async function runNext(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const tests = chooseTests(map, next.mutant);
      const found = await findFailure(next.number, tests);
      const fate = { ...next, caughtBy: found?.path, test: found?.test, tests: tests.length };
      fates.push(fate);
      print(`${fates.length}/${mutants.length} ${describe(fate)}`);
    }
  }

  async function findFailure(number: number, tests: readonly string[]) {
    for (const part of [tests.slice(0, NEAR), tests.slice(NEAR)]) {
      if (part.length === 0) continue;
      const env = { [ACTIVE]: String(number) };
      const run = { root, tests: part, env, workers: 1, bail: true, timeoutMs: timeOf(part) };
      const files = await runTests(run);
      if (files === undefined) return { path: part[0] ?? "", test: "does not end" };
      const found = files.find(({ failed }) => failed.length > 0);
      if (found !== undefined) return { path: found.path, test: found.failed[0] ?? "" };
    }
    return undefined;
  }

  /** A file that now fails without a mutant, too, has caught nothing: it is unreliable, or the map is old. */
  async function checkCatchers(): Promise<void> {
    const tests = [...new Set(fates.flatMap(({ caughtBy }) => caughtBy ?? []))];
    if (tests.length === 0) return;
    const run = { root, tests, env: {}, workers: processes, bail: false, timeoutMs: timeOf(tests) };
    const failing = (await runTests(run))?.filter(({ failed }) => failed.length > 0) ?? [];
    for (const { path, failed } of failing) {
      const count = fates.filter(({ caughtBy }) => caughtBy === path).length;
      print(
        `Fails without a mutant, too: ${path} > ${failed[0]}. ${count} mutants were caught by this file.`,
      );
    }
  }
}

const describe = ({ mutant, caughtBy, test }: Pick<Fate, "mutant" | "caughtBy" | "test">): string =>
  `${nameOf(mutant)}: ${caughtBy === undefined ? "SURVIVED" : `${caughtBy} > ${test}`}`;

export const nameOf = ({ id, file, line, original, code }: Mutant): string =>
  `${id} ${file}:${line}: ${shorten(original)} → ${code === ";" ? "nothing" : shorten(code)}`;

function shorten(code: string): string {
  const line = code.replaceAll(/\s+/g, " ");
  return line.length > 100 ? `${line.slice(0, 100)}…` : line;
}
