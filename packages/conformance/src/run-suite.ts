// Runs vitest with the given arguments and fails, whatever the tests say, when a key of the tests stands in
// what they print or in their report: what a test shows by accident, a gateway shows its operator's logs.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createCanaryFinder } from "./support/find-canaries.ts";

const VITEST = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url));
/** As `vitest.config.ts` names it. */
const REPORT = ".reports/vitest.json";

rmSync(REPORT, { force: true });
const child = spawn(process.execPath, [VITEST, ...process.argv.slice(2)], {
  stdio: ["inherit", "pipe", "pipe"],
  // Through a pipe vitest would not know that somebody looks at a terminal.
  env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: "1" }) },
});
const [code, leaks] = await Promise.all([
  untilEnded(child),
  Promise.all([
    passOn("its output", child.stdout, process.stdout),
    passOn("its error output", child.stderr, process.stderr),
  ]),
]);
const shown = [...leaks, readReport()].flat();
if (shown.length > 0) {
  process.stderr.write(`\nKeys of the tests came to light:\n${shown.map((leak) => `  ${leak}\n`).join("")}`);
}
process.exitCode = code === 0 && shown.length > 0 ? 1 : code;

/** The exit code; a terminal's Ctrl+C reaches vitest by itself, and its end is waited for. */
async function untilEnded(vitest: ChildProcess): Promise<number> {
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => vitest.kill());
  await once(vitest, "close");
  return vitest.exitCode ?? 1;
}

async function passOn(name: string, from: Readable, to: Writable): Promise<string[]> {
  const finder = createCanaryFinder();
  for await (const text of from.setEncoding("utf8")) {
    finder.add(String(text));
    to.write(text);
  }
  return finder.found().map((key) => `${key} in ${name}`);
}

function readReport(): string[] {
  // A run that wrote none, such as --help, has failed or has tested nothing.
  if (!existsSync(REPORT)) return [];
  const finder = createCanaryFinder();
  finder.add(readFileSync(REPORT, "utf8"));
  return finder.found().map((key) => `${key} in ${REPORT}`);
}
