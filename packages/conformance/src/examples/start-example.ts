import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { UsageRecord } from "@calotype/core";

/** An example app, running in a child process with the emulator. */
export interface RunningExample {
  /** The base URL for OpenAI clients. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Every line of its stdout so far. */
  readonly lines: readonly string[];
  /** The stderr so far. */
  readonly errors: () => string;
  /** Returns the usage record of a request by the id that the client got. Waits for it for up to two seconds. */
  findRecord(requestId: string | null): Promise<UsageRecord>;
  /** Stops the app with a signal, as a terminal or a supervisor does, and returns its exit code. */
  stop(): Promise<number | null>;
}

/** The variables that the examples read. Those of the user's environment must not reach a test. */
const UNSET = {
  ARK_API_KEY: "",
  ARK_BASE_URL: "",
  CALOTYPE_CONFIG: "",
  CALOTYPE_LEDGER: "",
  CALOTYPE_OPERATOR_KEY: "",
  CALOTYPE_RESULTS: "",
  DASHSCOPE_API_KEY: "",
  DASHSCOPE_BASE_URL: "",
  S3_BUCKET: "",
};

/** The tests search for it in everything that is printed. */
const API_KEY = "caller-canary-94f0b6e2";

/** Starts an example on a free port without a provider, and waits until it prints that it listens. */
export async function startExample(
  script: string,
  env: Record<string, string> = {},
  cwd?: string,
): Promise<RunningExample> {
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, ...UNSET, PORT: "0", CALOTYPE_API_KEY: API_KEY, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    cwd,
  });
  const exited = once(child, "exit");
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const lines: string[] = [];
  const listening = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      if (line.startsWith("calotype listens on ")) resolve(line.slice(line.indexOf("http")));
    });
  });
  const failed = exited.then(() =>
    Promise.reject(new Error(`The example ended before it listened: ${errors}`)),
  );
  failed.catch(() => undefined);
  return {
    baseUrl: await Promise.race([listening, failed]),
    // Without a key, the examples use this one.
    apiKey: (env["CALOTYPE_API_KEY"] ?? API_KEY) || "sk-local",
    lines,
    errors: () => errors,
    findRecord: (requestId) => findRecord(lines, requestId),
    async stop() {
      child.kill("SIGTERM");
      await exited;
      return child.exitCode;
    },
  };
}

async function findRecord(lines: readonly string[], requestId: string | null): Promise<UsageRecord> {
  for (let waits = 0; waits < 200; waits++) {
    const records = lines.filter((line) => line.startsWith("{")).map(toRecord);
    const record = records.find(({ id }) => id === requestId);
    if (record !== undefined) return record;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`There is no usage record of ${requestId}.`);
}

function toRecord(line: string): UsageRecord {
  return JSON.parse(line);
}
