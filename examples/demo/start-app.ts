import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { SettledRecord, UsageRecord } from "@calotype/core";
import type { Balance, UsageTotal } from "@calotype/core/billing";
import type { GatewayStatus } from "@calotype/core/operator";

const APP = fileURLToPath(new URL("../express-app/server.ts", import.meta.url));
const OPERATOR_KEY = "sk-operator";

/** The page of the app for its operator. */
interface OperatorPage extends GatewayStatus {
  readonly callers: readonly (UsageTotal & Balance)[];
}

/** The Express app of this repository, running in a child process. */
export interface App {
  /** The base URL for OpenAI clients. */
  readonly baseUrl: string;
  /** Returns the usage record of a request by the id that the client got. Waits for it for up to a second. */
  findRecord(requestId: string): Promise<SettledRecord>;
  readOperatorPage(): Promise<OperatorPage>;
  /** Prints the last line with a link to the studio that the app has printed, and each later one. */
  showStudioLinks(): void;
  /** Kills the process with SIGKILL: it can finish nothing. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the app. Its environment names a file of options, so that it does not use the providers of the user's
 * environment.
 */
export async function startApp(environment: Record<string, string>, logFile: string): Promise<App> {
  const log = createWriteStream(logFile, { flags: "a" });
  await once(log, "open");
  const app = spawn(process.execPath, [APP], {
    env: { ...process.env, CALOTYPE_OPERATOR_KEY: OPERATOR_KEY, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let studioLink = "";
  let showLink = (line: string): void => void (studioLink = line);
  // Links to the studio are for the terminal, and not for the log.
  const errors = createInterface({ input: app.stderr });
  errors.on("line", (line) => (line.startsWith("The studio: ") ? showLink(line) : log.write(`${line}\n`)));
  errors.once("close", () => log.end());
  // If the user stops the demo during the tour, the app also gets the signal. The current call then fails, and the
  // demo ends.
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
  const running = createApp(app, await Promise.race([baseUrl, ended]), records);
  return {
    ...running,
    showStudioLinks() {
      showLink = (line) => console.log(line);
      showLink(studioLink);
    },
  };
}

function createApp(
  app: ChildProcess,
  baseUrl: string,
  records: ReadonlyMap<string, SettledRecord>,
): Omit<App, "showStudioLinks"> {
  return {
    baseUrl,
    async findRecord(requestId) {
      for (let waits = 0; waits < 100; waits++) {
        const record = records.get(requestId);
        if (record !== undefined) return record;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      throw new Error(`There is no usage record of ${requestId}.`);
    },
    async readOperatorPage() {
      const response = await fetch(new URL("/operator", baseUrl), {
        headers: { authorization: `Bearer ${OPERATOR_KEY}` },
      });
      if (!response.ok) throw new Error(`The operator's page responded with ${response.status}.`);
      const page: OperatorPage = JSON.parse(await response.text());
      return page;
    },
    async kill() {
      app.kill("SIGKILL");
      await once(app, "exit");
    },
    async stop() {
      if (app.exitCode !== null || app.signalCode !== null) return;
      app.kill("SIGTERM");
      await once(app, "exit");
    },
  };
}
