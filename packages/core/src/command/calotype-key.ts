#!/usr/bin/env node
import { runKeyCommand } from "./run-key-command.js";

/** Far above any key; a file given by mistake is not read to its end. */
const MAX_LINE_LENGTH = 100_000;

process.exitCode = await runKeyCommand(process.argv.slice(2), {
  write: (text) => process.stdout.write(text),
  complain: (text) => process.stderr.write(text),
  isTyped: process.stdin.isTTY,
  readLine,
});

/** The first line of the standard input, or all of it when it has no end of line. */
async function readLine(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) {
    text += String(chunk);
    if (text.includes("\n") || text.length > MAX_LINE_LENGTH) break;
  }
  return text.split("\n", 1).join("");
}
