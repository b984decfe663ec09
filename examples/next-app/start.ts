// `next build` where something changed since the last one, then `next start`, with the providers emulated
// where the environment names none. Stdout carries the usage records; what Next.js prints goes to stderr.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { Environment } from "@calotype/example-options";
import { emulateProviders } from "@calotype/example-options/emulate-providers";

const SOURCES = [
  "*.{ts,json}",
  "app/**/*.ts",
  "../options/*.{ts,json}",
  "../../packages/{core,next}/{package.json,dist/**/*.js}",
];

if (!isBuilt()) await build();
const { env, close } = await emulateProviders(process.env);
const server = runNext(["start", "--port", env["PORT"] || "8787"], env);
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => server.kill(signal));
server.once("exit", (code) => {
  // Next.js ends with 128 and the signal's number when it is told to stop.
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

/** Whether the last build is newer than everything that went into it. */
function isBuilt(): boolean {
  const builtAt = changedAt(".next/BUILD_ID");
  return globSync(SOURCES, { cwd: import.meta.dirname }).every((path) => changedAt(path) < builtAt);
}

/** When a file was last written, in milliseconds since 1970; 0 when it is not there. */
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
