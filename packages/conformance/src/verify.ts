// The second part of `npm test`, after the set-up: runs the checks at the same time, and then the tests.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKED_FOLDER } from "./support/packed-project.ts";
import { POSTGRES, REDIS, type Service, urlOf } from "./support/service.ts";

interface Check {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
}

// Node stores compiled code there. The tests start hundreds of processes, most of which load the same modules.
process.env["NODE_COMPILE_CACHE"] ??= fileURLToPath(
  new URL("../../../node_modules/.cache/node", import.meta.url),
);

// The packages are packed once, for their checks and for all tests.
const tarballs = mkdtempSync(join(tmpdir(), "calotype-tarballs-"));
process.env[PACKED_FOLDER] = tarballs;

const SUITE = fileURLToPath(new URL("run-suite.ts", import.meta.url));

const CHECKS: readonly Check[] = [
  { title: "lint and formatting", command: "pnpm", args: ["run", "lint"] },
  { title: "types of all packages", command: "pnpm", args: ["run", "typecheck"] },
  { title: "unused files, exports and dependencies", command: "pnpm", args: ["run", "check:unused"] },
  { title: "the packages that would be published to npm", command: "pnpm", args: ["run", "check:packages"] },
];
const TESTS: Check = {
  title: "the tests of all packages and examples",
  command: process.execPath,
  args: [SUITE, "run"],
};

// A terminal sends Ctrl+C to the children too; this process waits for their ends.
process.on("SIGINT", () => undefined);
await printPlan();
// At the same time, because some of them use one core only.
const passed = await Promise.all(CHECKS.map((check) => run(check, "pipe")));
if (passed.every(Boolean)) {
  process.stdout.write(`\n${TESTS.title}\n`);
  await run(TESTS, "inherit");
}

rmSync(tarballs, { recursive: true });

async function printPlan(): Promise<void> {
  const titles = [...CHECKS, TESTS].map(({ title }, index) => `  ${index + 1}. ${title}\n`).join("");
  process.stdout.write(`This takes about ten minutes on two cores. It checks:\n${titles}`);
  for (const service of [POSTGRES, REDIS]) process.stdout.write(`${await describeService(service)}\n`);
}

async function describeService(service: Service): Promise<string> {
  const { name, variable, probe } = service;
  try {
    await probe(urlOf(service));
    return `${name} was found: its tests run.`;
  } catch {
    return `${name} was not found (set ${variable} to its URL): its tests are skipped, or fail with CI=true.`;
  }
}

/** Runs a check, and says whether it passed. The output of a check with pipes is printed when it has ended. */
async function run({ title, command, args }: Check, stdio: "inherit" | "pipe"): Promise<boolean> {
  const startedAt = performance.now();
  const child = spawn(command, args, { stdio: ["inherit", stdio, stdio] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  await once(child, "close");
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  const code = child.exitCode ?? 1;
  process.stdout.write(`\n${output}${code === 0 ? "Passed" : "Failed"} after ${seconds} s: ${title}\n`);
  if (code !== 0) process.exitCode = code;
  return code === 0;
}
