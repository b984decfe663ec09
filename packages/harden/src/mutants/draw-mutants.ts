import { hash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { API } from "typescript/unstable/sync";
import { type Change, listChanges } from "./list-changes.ts";

/** A changed program: one place of one file is another one. */
export interface Mutant extends Change {
  /** Stays the same while its line does. */
  readonly id: string;
  /** The path of the file from the root. */
  readonly file: string;
  readonly line: number;
  readonly original: string;
}

export interface Draw {
  readonly root: string;
  /** The paths of the source files, from the root. */
  readonly files: readonly string[];
  /** The path of the `tsconfig.json` with which they are compiled, from the root. */
  readonly project: string;
  readonly seed: number;
  readonly count: number;
  /** Only the mutants with these ids. */
  readonly ids?: readonly string[] | undefined;
}

/**
 * Draws mutants that compile, in an order that depends only on the seed and on their lines. What the compiler refuses is not a
 * mutant. Only the changed file is checked, which is enough unless a change alters an inferred type of an export.
 */
export function drawMutants({ root, files, project, seed, count, ids }: Draw): Mutant[] {
  const changed = new Map<string, string>();
  const api = new API({ cwd: root, fs: { readFile: (path) => changed.get(path) } });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(root, project)] });
    const program = snapshot.getProjects()[0]?.program;
    const places = files.flatMap((file) => {
      const source = program?.getSourceFile(join(root, file));
      if (source === undefined) throw new Error(`${project} does not compile ${file}`);
      return toMutants(file, source.text, listChanges(source));
    });
    const chosen = places.filter(([mutant]) => ids === undefined || ids.includes(mutant?.id ?? ""));
    const order = (mutants: readonly Mutant[]): string => hash("sha1", `${seed} ${mutants[0]?.id}`);
    const drawn: Mutant[] = [];
    for (const alternatives of chosen.toSorted((a, b) => order(a).localeCompare(order(b)))) {
      if (drawn.length === count) break;
      const mutant = alternatives.find((alternative) => compiles(alternative));
      if (mutant !== undefined) drawn.push(mutant);
    }
    return drawn;
  } finally {
    api.close();
  }

  function compiles(mutant: Mutant): boolean {
    const path = join(root, mutant.file);
    const code = applyChange(readFileSync(path, "utf8"), mutant);
    changed.set(path, code);
    const program = api.updateSnapshot({ fileChanges: { changed: [path] } }).getProjects()[0]?.program;
    changed.delete(path);
    const isRefused =
      program === undefined ||
      program.getSyntacticDiagnostics(path).length > 0 ||
      program.getSemanticDiagnostics(path).length > 0;
    api.updateSnapshot({ fileChanges: { changed: [path] } });
    return !isRefused;
  }
}

const applyChange = (code: string, change: Change): string =>
  code.slice(0, change.start) + change.code + code.slice(change.end);

function toMutants(file: string, code: string, places: readonly (readonly Change[])[]): Mutant[][] {
  const seen = new Map<string, number>();
  return places
    .filter((changes) => changes.length > 0)
    .map((changes) => {
      const { start = 0, end = 0, code: first } = changes[0] ?? {};
      const original = code.slice(start, end);
      const line = code.slice(0, start).split("\n").length;
      const key = `${file} ${code.split("\n")[line - 1]?.trim()} ${original} ${first}`;
      const nth = seen.get(key) ?? 0;
      seen.set(key, nth + 1);
      const id = hash("sha1", `${key} ${nth}`).slice(0, 8);
      return changes.map((change) => ({ ...change, id, file, line, original }));
    });
}
