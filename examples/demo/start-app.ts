import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { UsageRecord } from "@calotype/core";

const APP = fileURLToPath(new URL("../express-app/server.ts", import.meta.url));

/** The Express app of this repository, running as a process of its own. */
export interface App {
  /** What OpenAI clients take as their base URL. */
  readonly baseUrl: string;
  /** The usage record of a request, by the id the client saw. Waits for it for a second. */
  findRecord(requestId: string): Promise<UsageRecord>;
  stop(): Promise<void>;
}

/** Starts the app; the environment names its providers, so that none of the user's own is called. */
export async function startApp(environment: Record<string, string>): Promise<App> {
  const app = spawn(process.execPath, [APP], {
    env: { ...process.env, CALOTYPE_CONFIG: "", ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
  // Whoever stops the demo in mid-tour stops the app with it; the call under way then fails, and all ends.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => app.kill(signal));
  const records = new Map<string, UsageRecord>();
  const lines = createInterface({ input: app.stdout });
  const baseUrl = await new Promise<string>((resolve, reject) => {
    app.once("exit", (code) => reject(new Error(`The app ended with code ${code}.`)));
    lines.on("line", (line) => {
      if (line.startsWith("{")) {
        const record: UsageRecord = JSON.parse(line);
        records.set(record.id, record);
      } else {
        resolve(line.slice(line.indexOf("http")));
      }
    });
  });
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
    async stop() {
      if (app.exitCode !== null) return;
      app.kill("SIGTERM");
      await once(app, "exit");
    },
  };
}
