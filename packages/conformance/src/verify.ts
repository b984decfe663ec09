// The second part of `npm test`, after the set-up: runs the checks one after another, and prints the title of each.
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

const STEPS: readonly Check[] = [
  { title: "lint and formatting", command: "pnpm", args: ["run", "lint"] },
  { title: "types of all packages", command: "pnpm", args: ["run", "typecheck"] },
  { title: "unused files, exports and dependencies", command: "pnpm", args: ["run", "check:unused"] },
  { title: "the packages that would be published to npm", command: "pnpm", args: ["run", "check:packages"] },
  {
    title: "the tests of all packages and examples",
    command: process.execPath,
    args: [SUITE, "run"],
  },
];

await printPlan();
for (const [index, step] of STEPS.entries()) {
  process.stdout.write(`\n[${index + 1}/${STEPS.length}] ${step.title}\n`);
  const startedAt = performance.now();
  const code = await run(step);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  if (code !== 0) {
    process.stderr.write(`\nFailed after ${seconds} s: ${step.title}\n`);
    process.exitCode = code;
    break;
  }
  process.stdout.write(`Passed after ${seconds} s.\n`);
}

rmSync(tarballs, { recursive: true });

async function printPlan(): Promise<void> {
  const titles = STEPS.map(({ title }, index) => `  ${index + 1}. ${title}\n`).join("");
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

async function run({ command, args }: Check): Promise<number> {
  const child = spawn(command, args, { stdio: "inherit" });
  // A terminal sends Ctrl+C to the child too; this process waits for the child's end.
  process.on("SIGINT", () => undefined);
  await once(child, "close");
  return child.exitCode ?? 1;
}
