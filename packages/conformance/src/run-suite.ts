// Runs vitest with the given arguments, and fails if the output or the report contains a key of the tests. If a test
// shows a key by accident, a gateway would show it in its logs.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { createCanaryFinder } from "./support/find-canaries.ts";

const VITEST = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url));
/** The path in `vitest.config.ts`. */
const REPORT = ".reports/vitest.json";

rmSync(REPORT, { force: true });
const child = spawn(process.execPath, [VITEST, ...process.argv.slice(2)], {
  stdio: ["inherit", "pipe", "pipe"],
  // Through a pipe, vitest cannot detect a terminal.
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

/** Returns the exit code. vitest gets Ctrl+C from the terminal itself; this process waits for its end. */
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
  // A run without a report has failed or has run no test, for example with --help.
  if (!existsSync(REPORT)) return [];
  const finder = createCanaryFinder();
  finder.add(readFileSync(REPORT, "utf8"));
  return finder.found().map((key) => `${key} in ${REPORT}`);
}
