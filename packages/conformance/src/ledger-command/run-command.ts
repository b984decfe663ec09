import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Pool } from "pg";
import { onTestFinished } from "vitest";

const COMMAND = join(import.meta.dirname, "../../node_modules/@calotype/ledger/dist/calotype-ledger.js");

/** A run of `calotype-ledger` in a process of its own, as an operator starts it. */
export interface CommandRun {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
}

/** Starts `calotype-ledger`, without variables of this process. */
export function startCommand(words: readonly string[]): CommandRun {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", COMMAND, ...words], {
    cwd: tmpdir(),
    env: { NODE_ENV: "test", PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  const end = async () => {
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
    return { code: child.exitCode, out, err };
  };
  return { child, ended: end() };
}

/** Runs `calotype-ledger` to its end. */
export const runCommand = async (...words: readonly string[]): CommandRun["ended"] =>
  await startCommand(words).ended;

/** A folder that is removed after the test. */
export function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "calotype-ledger-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Where a ledger is. */
export interface LedgerPlace {
  readonly ledger: string;
  /** On PostgreSQL. */
  readonly schema?: string;
}

/** A schema of its own for a ledger, which is removed after the test. The tests do not end the server, so they need not wait for its disk. */
export function nameSchema(url: string): Required<LedgerPlace> {
  const schema = `calotype_test_${randomUUID()}`;
  onTestFinished(async () => {
    const pool = new Pool({ connectionString: url, max: 1 });
    await pool.query(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
    await pool.end();
  });
  const ledger = new URL(url);
  ledger.searchParams.set("options", "-c synchronous_commit=off");
  return { ledger: ledger.href, schema };
}

/** The arguments that name a place: `at("from", place)` is `--from LEDGER --from-schema SCHEMA`. */
export function at(option: "from" | "to" | "ledger", { ledger, schema }: LedgerPlace): string[] {
  const name = option === "ledger" ? "--schema" : `--${option}-schema`;
  return [`--${option}`, ledger, ...(schema === undefined ? [] : [name, schema])];
}

/** All rows of a ledger as the command writes them, without the last line, which has the number of changes of callers. */
export async function readRows(place: LedgerPlace): Promise<string> {
  const path = join(createFolder(), "dump.jsonl");
  const { code, err } = await runCommand("copy", ...at("from", place), "--to", path);
  if (code !== 0) throw new Error(err);
  const dump = await readFile(path, "utf8");
  return dump.slice(0, dump.lastIndexOf("\n", dump.length - 2));
}
