import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { GatewayStatus, SettledRecord, UsageRecord } from "@calotype/core";
import type { Balance, UsageTotal } from "@calotype/core/billing";

const APP = fileURLToPath(new URL("../express-app/server.ts", import.meta.url));
const OPERATOR_KEY = "sk-operator";

/** What the app shows its operator. */
interface Books extends GatewayStatus {
  readonly callers: readonly (UsageTotal & Balance)[];
}

/** The Express app of this repository, running as a process of its own. */
export interface App {
  /** What OpenAI clients take as their base URL. */
  readonly baseUrl: string;
  /** The usage record of a request, by the id the client saw. Waits for it for a second. */
  findRecord(requestId: string): Promise<SettledRecord>;
  readBooks(): Promise<Books>;
  stop(): Promise<void>;
}

/** Starts the app; its environment names a file of options, so that no provider of the user's own is called. */
export async function startApp(environment: Record<string, string>, logFile: string): Promise<App> {
  const log = createWriteStream(logFile);
  await once(log, "open");
  const app = spawn(process.execPath, [APP], {
    env: { ...process.env, CALOTYPE_OPERATOR_KEY: OPERATOR_KEY, ...environment },
    stdio: ["ignore", "pipe", log],
  });
  log.close();
  // Whoever stops the demo in mid-tour stops the app with it; the call under way then fails, and all ends.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => app.kill(signal));
  const records = new Map<string, SettledRecord>();
  const baseUrl = new Promise<string>((resolve) => {
    createInterface({ input: app.stdout }).on("line", (line) => {
      if (!line.startsWith("{")) return resolve(line.slice(line.indexOf("http")));
      const record: UsageRecord = JSON.parse(line);
      if (record.state === "settled") records.set(record.id, record);
    });
  });
  const ended = once(app, "exit").then(async () => {
    throw new Error(`The app ended: ${await readFile(logFile, "utf8")}`);
  });
  ended.catch(() => undefined);
  return createApp(app, await Promise.race([baseUrl, ended]), records);
}

function createApp(app: ChildProcess, baseUrl: string, records: ReadonlyMap<string, SettledRecord>): App {
  return {
    baseUrl,
    async findRecord(requestId) {
      for (let waits = 0; waits < 100; waits++) {
        const record = records.get(requestId);
        if (record !== undefined) return record;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      throw new Error(`No usage record of ${requestId} came.`);
    },
    async readBooks() {
      const response = await fetch(new URL("/operator", baseUrl), {
        headers: { authorization: `Bearer ${OPERATOR_KEY}` },
      });
      if (!response.ok) throw new Error(`The operator's page responded with ${response.status}.`);
      const books: Books = JSON.parse(await response.text());
      return books;
    },
    async stop() {
      if (app.exitCode !== null) return;
      app.kill("SIGTERM");
      await once(app, "exit");
    },
  };
}
