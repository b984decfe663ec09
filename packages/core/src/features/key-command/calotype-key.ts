#!/usr/bin/env node
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { openCallerStore } from "./open-caller-store.js";
import { runKeyCommand } from "./run-key-command.js";

/** Far longer than any key. A file that is given by mistake is not read to its end. */
const MAX_LINE_LENGTH = 100_000;

process.exitCode = await runKeyCommand(process.argv.slice(2), {
  write: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
  isTyped: process.stdin.isTTY,
  readLine,
  readEnv,
  now: Date.now,
  user: findUser(),
  openCallerStore,
});

/** The variables of the process, and those of `.env` in this folder that it does not have: `npm start` of an app reads the same. */
function readEnv(): NodeJS.ProcessEnv {
  if (existsSync(".env")) process.loadEnvFile();
  return process.env;
}

/** The user of the system, who may have no name in a container. */
function findUser(): string {
  try {
    return userInfo().username || "calotype-key";
  } catch {
    return "calotype-key";
  }
}

/** Returns the first line of stdin, or all of it if it has no line end. */
async function readLine(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    text += String(chunk);
    if (text.includes("\n") || text.length > MAX_LINE_LENGTH) break;
  }
  return text.split("\n", 1).join("");
}
