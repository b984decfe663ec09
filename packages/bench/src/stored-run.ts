import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { basename, join } from "node:path";

/** A run of a command of this package, as `results` has it. The tests write the figures of the documents from these files. */
export interface StoredRun<Results> {
  /** When it ended, in ISO 8601. */
  readonly date: string;
  readonly command: string;
  readonly node: string;
  readonly machine: Machine;
  readonly results: Results;
}

/** The machine of a run, and what else it did. */
interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryBytes: number;
  /** How many threads ran or waited for a core, on average in the minute before the run began: what other programs did. */
  readonly loadBefore: number;
  /** The same in the last minute of the run, with what the run itself did. */
  readonly loadAfter: number;
}

const FOLDER = join(import.meta.dirname, "../results");
/** The file of a stored run. */
export const pathOf = (name: string): string => join(FOLDER, `${name}.json`);

/** Begins a run. Returns the function that stores its results in `results/<name>.json` and returns the path. */
export function beginRun(command: string): (name: string, results: object) => string {
  const loadBefore = readLoad();
  return (name, results) => {
    const machine = {
      cores: availableParallelism(),
      processor: cpus()[0]?.model ?? "unknown",
      memoryBytes: totalmem(),
      loadBefore,
      loadAfter: readLoad(),
    };
    const run: StoredRun<object> = {
      date: new Date().toISOString(),
      command,
      node: process.versions.node,
      machine,
      results,
    };
    writeFileSync(pathOf(name), `${JSON.stringify(run, null, 2)}\n`);
    return pathOf(name);
  };
}

/** Reads a stored run. */
export function readRun<Results>(name: string): StoredRun<Results> {
  const run: StoredRun<Results> = JSON.parse(readFileSync(pathOf(name), "utf8"));
  return run;
}

/** Says when and where a run was made, and how busy the machine was. */
export function describeRun({ date, command, node, machine }: StoredRun<unknown>): string {
  const { cores, loadBefore, loadAfter } = machine;
  const load = `${loadBefore} programs wanted a core before it, and ${loadAfter} at its end`;
  return `Measured on ${date.slice(0, 10)} with \`${command}\`: Node ${node}, ${cores} cores; ${load}.`;
}

const readLoad = (): number => Number((loadavg()[0] ?? 0).toFixed(1));

/** The names of the files of `results`. */
export const listStored = (): string[] => readdirSync(FOLDER).map((file) => basename(file, ".json"));
