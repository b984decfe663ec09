// `npm run compare-builds`: random calls against two builds of core. See docs/hardening.md.
import { inspect, parseArgs } from "node:util";
import { ROOT } from "@calotype/conformance/support/workspace";
import { compareScenario } from "./builds/compare.ts";
import { loadBuild } from "./builds/load-build.ts";
import type { Trace } from "./builds/run-scenario.ts";

/** After so many differences the rest is not run. */
const MAX_SHOWN = 10;

const { values: options } = parseArgs({
  options: {
    against: { type: "string" },
    scenarios: { type: "string", default: "5000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    only: { type: "string" },
    ignore: { type: "string" },
  },
});

/** Statuses and ends of responses, store calls, and records. */
const COUNTED = /^(?:status \d+|complete|left|broken|stored|afterImage|record|[\w.]+(?=\())/;

/** The scenario that runs, and how to run it alone. */
let current = "no scenario";
process.on("uncaughtException", (error) => {
  print(`The process fails in ${current}\n${inspect(error)}`);
  process.exit(1);
});

// Timers of gateways whose process has died do not keep this one alive.
process.exit(await run());

async function run(): Promise<number> {
  const { against, only, ignore } = options;
  if (against === undefined) {
    throw new TypeError("--against must be the folder of another checkout that is built.");
  }
  const seed = toWhole("seed", options.seed);
  const first = only === undefined ? 0 : toWhole("only", only);
  const end = only === undefined ? toWhole("scenarios", options.scenarios) : first + 1;
  const builds = {
    ours: await loadBuild(ROOT),
    other: await loadBuild(against),
    ignored: ignore === undefined ? undefined : new RegExp(ignore, "g"),
  };
  print(`Seed ${seed}`);
  const reached = new Map<string, number>();
  let differences = 0;
  for (let index = first; index < end && differences < MAX_SHOWN; index += 1) {
    current = `scenario ${index}\n  node packages/harden/src/compare-builds.ts --against ${against} --seed ${seed} --only ${index}`;
    const { trace, difference } = await compareScenario(builds, seed, index);
    countLines(trace, reached);
    if (difference === undefined) continue;
    differences += 1;
    const { place, ours = "(nothing)", other = "(nothing)" } = difference;
    print(`\n${place} of ${current}\n  this:  ${ours}\n  other: ${other}`);
  }
  print(`Seen: ${[...reached].map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ")}`);
  print(`${differences} differences`);
  return differences === 0 ? 0 : 1;
}

/** Counts what the scenarios have reached, so that a run that compares little can be seen. */
function countLines(trace: Trace, counts: Map<string, number>): void {
  for (const line of Object.values(trace).flat()) {
    const [name] = COUNTED.exec(line) ?? [];
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
}

function toWhole(name: string, text: string): number {
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`--${name} must be a whole number of at least 0, not ${text}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
