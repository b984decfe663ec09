import { drawScenario } from "./draw-scenario.ts";
import type { Build } from "./load-build.ts";
import { RANDOM } from "./record-calls.ts";
import { runScenario, type Trace } from "./run-scenario.ts";

/** The builds and the scenarios of a comparison. */
export interface Comparison {
  readonly ours: Build;
  readonly other: Build;
  readonly seed: number;
  /** The numbers of the scenarios. */
  readonly indexes: Iterable<number>;
  /** Gets the trace of each scenario with the first build. */
  readonly onTrace?: ((trace: Trace, index: number) => void) | undefined;
}

/** The first difference between the two builds in a scenario. */
export interface Difference {
  readonly index: number;
  /** Where it is, such as `client 0, line 3`. */
  readonly place: string;
  /** The line of the first build, around the first character that differs. Absent: it has no such line. */
  readonly ours: string | undefined;
  readonly other: string | undefined;
}

/** Runs each scenario with both builds, and returns the differences. */
export async function* compareBuilds(comparison: Comparison): AsyncGenerator<Difference, void> {
  const { ours, other, seed, indexes, onTrace } = comparison;
  for (const index of indexes) {
    const scenario = drawScenario(seed, index);
    const [trace, otherTrace] = [await runScenario(scenario, ours), await runScenario(scenario, other)];
    onTrace?.(trace, index);
    const difference = findDifference(trace, otherTrace);
    if (difference !== undefined) yield { index, ...difference };
  }
}

function findDifference(ours: Trace, other: Trace): Omit<Difference, "index"> | undefined {
  const [nameOurs, nameOther] = [createNamer(), createNamer()];
  for (const [section, lines] of Object.entries(ours)) {
    const otherLines = other[section] ?? [];
    for (let at = 0; at < Math.max(lines.length, otherLines.length); at += 1) {
      const [one, two] = [nameOurs(lines[at]), nameOther(otherLines[at])];
      if (one !== two) return { place: `${section}, line ${at + 1}`, ...showAround(one, two) };
    }
  }
  return undefined;
}

/** Replaces random ids by numbers, in the order of their appearance. So the same id is the same number everywhere. */
function createNamer(): (line: string | undefined) => string | undefined {
  const names = new Map<string, string>();
  return (line) =>
    line?.replaceAll(RANDOM, (id) => {
      const name = names.get(id) ?? `<random ${names.size + 1}>`;
      names.set(id, name);
      return name;
    });
}

/** The characters that are shown before and after the first one that differs. */
const SHOWN_BEFORE = 100;
const SHOWN_AFTER = 200;

function showAround(ours: string | undefined, other: string | undefined): Pick<Difference, "ours" | "other"> {
  let at = 0;
  while (ours !== undefined && at < ours.length && ours[at] === other?.[at]) at += 1;
  const show = (line: string | undefined): string | undefined => {
    const start = Math.max(0, at - SHOWN_BEFORE);
    return line && `${start > 0 ? "…" : ""}${line.slice(start, at + SHOWN_AFTER)}`;
  };
  return { ours: show(ours), other: show(other) };
}
