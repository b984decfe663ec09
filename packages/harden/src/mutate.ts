// `npm run mutate`: changes core in many places and shows which changes no test catches. See packages/harden/README.md.
import { hash } from "node:crypto";
import { globSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildCore, copyWorkspace } from "./mutants/copy-workspace.ts";
import { drawMutants } from "./mutants/draw-mutants.ts";
import { instrument } from "./mutants/instrument.ts";
import { type Fate, nameOf, runMutants } from "./mutants/run-mutants.ts";

const { values: options } = parseArgs({
  options: {
    folders: {
      type: "string",
      default:
        "features/tasks,features/task-store,features/webhooks,features/results,features/callers,responses",
    },
    count: { type: "string", default: "200" },
    seed: { type: "string", default: "1" },
    mutant: { type: "string" },
    tests: { type: "string" },
    map: { type: "string" },
    seconds: { type: "string" },
    processes: { type: "string", default: "2" },
    out: { type: "string" },
    list: { type: "boolean", default: false },
  },
});

const ROOT = join(import.meta.dirname, "../../..");
const CORE = "packages/core/src";
/** The tests that use the built core, after those of core. */
const OTHERS = [
  "packages/conformance",
  "packages/node",
  "packages/sqlite",
  "packages/postgres",
  "packages/s3",
];
/** Of this many mutants, at most one may survive. */
const LIMIT = 10;

const files = globSync(
  options.folders.split(",").map((folder) => `${CORE}/${folder}/**/*.ts`),
  { cwd: ROOT },
);
const mutants = drawMutants({
  root: ROOT,
  files: files.filter((path) => !/\.test\.ts$|\/testing\//.test(path)).toSorted(),
  project: "packages/core/tsconfig.build.json",
  seed: Number(options.seed),
  count: Number(options.count),
  ids: options.mutant?.split(","),
}).map((mutant, number) => ({ mutant, number }));
if (options.list) for (const { mutant } of mutants) print(nameOf(mutant));
else process.exitCode = await run();

async function run(): Promise<number> {
  const root = join(tmpdir(), `calotype-mutants-${hash("sha1", ROOT).slice(0, 8)}`);
  print(`Seed ${options.seed}: ${mutants.length} mutants, in a copy at ${root}`);
  copyWorkspace(ROOT, root);
  instrument(
    root,
    CORE,
    mutants.map(({ mutant }) => mutant),
  );
  buildCore(root);
  const rounds = options.tests === undefined ? [["packages/core"], OTHERS] : [options.tests.split(",")];
  let fates: readonly Fate[] = [];
  let left = mutants;
  for (const [index, tests] of rounds.entries()) {
    const mapPath = options.map === undefined ? undefined : `${options.map}.${index}.json`;
    print(`${left.length} mutants with the tests of ${tests.join(", ")}`);
    const processes = Number(options.processes);
    const seconds = options.seconds === undefined ? undefined : Number(options.seconds);
    const result = await runMutants({ seconds, root, tests, mutants: left, processes, mapPath, print });
    fates = [...fates.filter(({ caughtBy }) => caughtBy !== undefined), ...result];
    left = result.filter(({ caughtBy }) => caughtBy === undefined);
    if (left.length === 0) break;
  }
  print(`${mutants.length - left.length} of ${mutants.length} mutants were caught. These survived:`);
  for (const { mutant } of left) print(`  ${nameOf(mutant)}`);
  if (options.out !== undefined) writeFileSync(options.out, `${JSON.stringify(fates, undefined, 2)}\n`);
  return left.length * LIMIT > mutants.length ? 1 : 0;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
