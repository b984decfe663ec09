#!/usr/bin/env node
import { existsSync } from "node:fs";
import { runLedgerCommand } from "./run-ledger-command.js";

process.exitCode = await runLedgerCommand(process.argv.slice(2), {
  write: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
  readEnv: () => {
    if (existsSync(".env")) process.loadEnvFile();
    return process.env;
  },
  progressMs: 10_000,
});
