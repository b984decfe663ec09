// npm run test:runtimes [-- "Node 26" Deno …]: the suite on every runtime that npm test does not have,
// and the tests of core where vitest runs. Prints a line for each check; fails when one fails.
import { fetchRuntimes } from "./fetch-runtimes.ts";
import { runCoreTests } from "./run-core-tests.ts";
import { runSuite } from "./run-suite.ts";
import type { Runtime } from "./runtime.ts";

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const runtimes = await fetchRuntimes(process.argv.slice(2));
if (runtimes.length === 0)
  throw new Error('No such runtime. There are: "Node 22", "Node 24", "Node 26", Bun, Deno, workerd.');
let failed = false;
for (const runtime of runtimes) {
  failed = !(await passesSuite(runtime)) || failed;
  if (runtime.kind === "node" || runtime.kind === "bun") failed = !(await passesCoreTests(runtime)) || failed;
}
process.exitCode = failed ? 1 : 0;

async function passesSuite(runtime: Runtime): Promise<boolean> {
  print(`\n${runtime.name}`);
  const { exitCode, output, errors } = await runSuite(runtime);
  print(output.trimEnd());
  if (exitCode !== 0) print(errors);
  return exitCode === 0;
}

async function passesCoreTests(runtime: Runtime): Promise<boolean> {
  const tests = await runCoreTests(runtime);
  print(
    `tests of @calotype/core: ${tests.passed} passed, ${tests.failed.length} failed, ${tests.skipped} skipped`,
  );
  for (const failure of tests.failed) print(failure);
  return tests.failed.length === 0;
}
