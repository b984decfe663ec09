import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** Runs a command of Next.js on the port PORT, or on 8787. Next.js itself does not take its port from `.env`. */
export function runNext(args: readonly string[], variables: Readonly<Record<string, string>> = {}): void {
  const next = fileURLToPath(import.meta.resolve("next/dist/bin/next"));
  const port = process.env.PORT || "8787";
  const server = spawn(process.execPath, [next, ...args, "--port", port], {
    env: { ...process.env, ...variables, PORT: port },
    stdio: "inherit",
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => server.kill(signal));
  server.once("exit", (code) => process.exit(code ?? 0));
}
