// Runs `next build` if something has changed since the last build, then `next start`. Without an account at Volcengine
// Ark, the images are emulated. Without BETTER_AUTH_SECRET, sessions end with this process, as the users do. Stdout has only the usage records; the output of Next.js goes to stderr.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { globSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Environment, emulateArk } from "./emulate-ark.ts";

const SOURCES = [
  "*.{ts,json}",
  "app/**/*.{ts,tsx,css}",
  "node_modules/@calotype/*/{package.json,dist/**/*.js}",
];

/** An emulated image takes 1, 2, 3 or 4 seconds, so that the page shows the images of a task one after another. */
const UNEVEN = [
  { latencyMs: 1_000 },
  { latencyMs: 1_000, probability: 0.5 },
  { latencyMs: 2_000, probability: 0.5 },
];

if (!isBuilt()) await build();
const { env, close } = await emulateArk(process.env, UNEVEN);
const secret = env["BETTER_AUTH_SECRET"] || randomBytes(32).toString("hex");
const server = runNext(["start", "--port", env["PORT"] || "8787"], { ...env, BETTER_AUTH_SECRET: secret });
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => server.kill(signal));
server.once("exit", (code) => {
  // When Next.js is stopped by a signal, its exit code is 128 plus the number of the signal.
  process.exitCode = code === 130 || code === 143 ? 0 : (code ?? 1);
  void close();
});
let url = "";
for await (const line of createInterface({ input: server.stdout })) {
  url = /Local: +(http\S+)/.exec(line)?.[1] ?? url;
  if (line.includes("Ready in")) console.log(`calotype listens on ${url}/v1`);
  else if (line.startsWith("{")) console.log(line);
  else console.error(line);
}

async function build(): Promise<void> {
  const run = runNext(["build"], process.env);
  run.stdout.pipe(process.stderr);
  const [code] = await once(run, "exit");
  if (code !== 0) throw new Error(`next build ended with code ${code}.`);
}

/** Whether the last build is newer than all its sources. */
function isBuilt(): boolean {
  const builtAt = changedAt(".next/BUILD_ID");
  return globSync(SOURCES, { cwd: import.meta.dirname }).every((path) => changedAt(path) < builtAt);
}

/** When a file was last written, in milliseconds since 1970; 0 if it does not exist. */
function changedAt(path: string): number {
  return statSync(new URL(path, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function runNext(args: readonly string[], variables: Environment): ChildProcessByStdio<null, Readable, null> {
  return spawn(process.execPath, [fileURLToPath(import.meta.resolve("next/dist/bin/next")), ...args], {
    cwd: import.meta.dirname,
    env: { ...process.env, ...variables, NEXT_TELEMETRY_DISABLED: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
}
