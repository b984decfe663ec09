import { drawScenario } from "./draw-scenario.ts";
import type { Build } from "./load-build.ts";
import { RANDOM } from "./record-calls.ts";
import { runScenario, type Trace } from "./run-scenario.ts";

/** The two builds that are compared. */
export interface Builds {
  readonly ours: Build;
  readonly other: Build;
  /** Strings that are left out of what is compared. Global. Default: none. */
  readonly ignored?: RegExp | undefined;
}

/** The first difference between the two builds in a scenario. */
export interface Difference {
  /** Where it is, such as `client 0, line 3`. */
  readonly place: string;
  /** The line of our build, around the first character that differs. Absent: it has no such line. */
  readonly ours: string | undefined;
  readonly other: string | undefined;
}

/** Runs the scenario with this number with both builds. Returns what could be seen of ours, and the difference. */
export async function compareScenario(
  { ours, other, ignored }: Builds,
  seed: number,
  index: number,
): Promise<{ readonly trace: Trace; readonly difference: Difference | undefined }> {
  const scenario = drawScenario(seed, index);
  const trace = await runScenario(scenario, ours);
  return { trace, difference: findDifference(trace, await runScenario(scenario, other), ignored) };
}

function findDifference(ours: Trace, other: Trace, ignored?: RegExp): Difference | undefined {
  const [nameOurs, nameOther] = [createNamer(ignored), createNamer(ignored)];
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
function createNamer(ignored = /$^/g): (line: string | undefined) => string | undefined {
  const names = new Map<string, string>();
  return (line) =>
    line?.replaceAll(ignored, "").replaceAll(RANDOM, (id) => {
      const name = names.get(id) ?? `<random ${names.size + 1}>`;
      names.set(id, name);
      return name;
    });
}

/** The characters that are shown before and after the first one that differs. */
const SHOWN_BEFORE = 100;
const SHOWN_AFTER = 200;

function showAround(ours: string | undefined, other: string | undefined): Omit<Difference, "place"> {
  const [one = "", two = ""] = [ours, other];
  const isDifferent = (_: unknown, place: number): boolean => one[place] !== two[place];
  const at = Array.from({ length: Math.max(one.length, two.length) }).findIndex(isDifferent);
  const show = (line: string | undefined): string | undefined => {
    const start = Math.max(0, at - SHOWN_BEFORE);
    return line && `${start > 0 ? "…" : ""}${line.slice(start, at + SHOWN_AFTER)}`;
  };
  return { ours: show(ours), other: show(other) };
}
