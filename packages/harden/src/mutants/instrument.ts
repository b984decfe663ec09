import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Mutant } from "./draw-mutants.ts";

/** The environment variable with the number of the mutant that runs. Child processes get it, too. */
export const ACTIVE = "MUTANT";
/** The environment variable with the file to which each test adds the mutants that it reaches. */
export const REACHED = "MUTANTS_REACHED";
/** The environment variable with the test file that runs, and the global variable, which is quick to read. */
export const TEST = "MUTANTS_TEST";

/** Has no imports, so that it also runs where there is no `node:fs`. */
const SWITCH = `
const env = globalThis.process?.env ?? {};
const active = Number(env.${ACTIVE} ?? -1);
const path = env.${REACHED};
const fs = path === undefined ? undefined : process.getBuiltinModule("node:fs");
globalThis.${TEST} ??= env.${TEST} ?? "";
const last = [];
export function isOn(mutant) {
  if (fs !== undefined && last[mutant] !== globalThis.${TEST}) {
    last[mutant] = globalThis.${TEST};
    fs.appendFileSync(path, mutant + " " + last[mutant] + "\\n");
  }
  return mutant === active;
}
`;

/**
 * Writes all mutants into their files, each behind a switch that is off unless its number is in the environment. So one build
 * and one cache of modules serve all mutants.
 */
export function instrument(root: string, folder: string, mutants: readonly Mutant[]): void {
  const home = join(folder, "mutant-switch.ts");
  writeFileSync(join(root, home), `// @ts-nocheck${SWITCH}`);
  for (const [file, own] of Map.groupBy(
    mutants.map((mutant, number) => ({ mutant, number })),
    ({ mutant }) => mutant.file,
  )) {
    const path = join(root, file);
    const from = relative(dirname(file), home)
      .replace(/^(?!\.)/, "./")
      .replace(/ts$/, "js");
    const code = addSwitches(readFileSync(path, "utf8"), own);
    writeFileSync(path, `${code}\nimport { isOn as isMutantOn } from "${from}";\n`);
  }
}

interface Numbered {
  readonly mutant: Mutant;
  readonly number: number;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Of insertions at one place the lower ones come first. */
  readonly rank: number;
}

/** The original code stays in its place, with the switches inside it. */
function addSwitches(code: string, mutants: readonly Numbered[]): string {
  const insertions = mutants.flatMap(({ mutant, number }): Insertion[] => {
    const { start, end, isStatement, code: changed } = mutant;
    const [before, after] = isStatement
      ? [`if (!isMutantOn(${number})) {`, "}"]
      : [`(isMutantOn(${number}) ? ${changed} : (`, "))"];
    // At one place inner ends come before outer ends, those before all beginnings, and outer beginnings before inner ones.
    // A statement contains the expression that begins with it.
    const width = (end - start) * 2 + (isStatement ? 1 : 0);
    return [
      { at: start, text: before, rank: code.length * 5 - width },
      { at: end, text: after, rank: width },
    ];
  });
  let result = "";
  let place = 0;
  for (const { at, text } of insertions.toSorted((a, b) => a.at - b.at || a.rank - b.rank)) {
    result += code.slice(place, at) + text;
    place = at;
  }
  return result + code.slice(place);
}
