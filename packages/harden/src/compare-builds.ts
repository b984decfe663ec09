// `npm run compare-builds`: random calls against two builds of core. See docs/hardening.md.
import { parseArgs } from "node:util";
import { ROOT } from "@calotype/conformance/support/workspace";
import { compareBuilds, type Difference } from "./builds/compare.ts";
import { loadBuild } from "./builds/load-build.ts";
import type { Trace } from "./builds/run-scenario.ts";

/** After so many differences the rest is not run. */
const MAX_SHOWN = 10;

const { values: options } = parseArgs({
  options: {
    against: { type: "string" },
    calls: { type: "string", default: "5000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    only: { type: "string" },
  },
});

// Timers of gateways whose process has died do not keep this one alive.
process.exit(await run());

async function run(): Promise<number> {
  const { against, seed: seedText, calls, only } = options;
  if (against === undefined)
    throw new TypeError("--against must be the folder of another checkout that is built.");
  const seed = toWhole("seed", seedText);
  const indexes =
    only === undefined
      ? Array.from({ length: toWhole("calls", calls) }, (_, index) => index)
      : [toWhole("only", only)];
  print(`Seed ${seed}`);
  const seen = createCounts();
  const comparison = { ours: await loadBuild(ROOT), other: await loadBuild(against), seed, indexes };
  let found = 0;
  for await (const difference of compareBuilds({ ...comparison, onTrace: seen.count })) {
    printDifference(difference, `--against ${against} --seed ${seed} --only ${difference.index}`);
    if (++found === MAX_SHOWN) break;
  }
  print(`${seen.show()}\n${found} differences`);
  return found === 0 ? 0 : 1;
}

function printDifference({ index, place, ours, other }: Difference, repeat: string): void {
  print(`\nScenario ${index}: ${place}`);
  print(`  this:  ${ours ?? "(nothing)"}`);
  print(`  other: ${other ?? "(nothing)"}`);
  print(`  node packages/harden/src/compare-builds.ts ${repeat}`);
}

/** Counts what the scenarios have reached, so that a run that compares little can be seen. */
function createCounts(): { readonly count: (trace: Trace) => void; readonly show: () => string } {
  const counts = new Map<string, number>();
  const add = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    count(trace) {
      add("scenarios");
      for (const line of Object.values(trace).flat()) {
        const [name] =
          /^(?:status \d+|complete|left|broken|[\w.]+(?=\()|(?:usage|results\.\w+|afterImage) )/.exec(line) ??
          [];
        if (name !== undefined) add(name.trim());
      }
    },
    show: () => [...counts].map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", "),
  };
}

function toWhole(name: string, text: string): number {
  const value = Number(text);
  if (text !== "" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`--${name} must be a whole number of at least 0, not ${text}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
