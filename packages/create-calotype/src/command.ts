#!/usr/bin/env node
import { createRequire } from "node:module";
import { createApp } from "./create-app.js";

const { version }: { version: string } = createRequire(import.meta.url)("../package.json");
const { env, stdin, stdout, stderr } = process;

process.exitCode = await createApp(process.argv.slice(2), {
  version,
  canAsk: stdin.isTTY && stdout.isTTY && !env["CI"],
  // Such as "pnpm/12.21.0 npm/? node/v24.21.0".
  packageManager: /^(npm|pnpm|yarn|bun)\//.exec(env["npm_config_user_agent"] ?? "")?.[1] ?? "npm",
  nodeVersion: process.versions.node,
  write: (text) => stdout.write(text),
  writeError: (text) => stderr.write(text),
});
