#!/usr/bin/env node
import { createRequire } from "node:module";
import { runCommand } from "./command/run-command.js";

const { version }: { version: string } = createRequire(import.meta.url)("../package.json");

process.exitCode = await runCommand(process.argv.slice(2), {
  version,
  write: (text) => process.stdout.write(text),
  writeError: (text) => process.stderr.write(text),
  untilStopped: () =>
    new Promise((resolve) => {
      process.once("SIGINT", () => resolve());
      process.once("SIGTERM", () => resolve());
    }),
});
