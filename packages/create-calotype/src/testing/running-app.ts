import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { findFreePort } from "@calotype/conformance/support/find-free-port";
import { vi } from "vitest";

/** A generated app that listens. */
export interface RunningApp {
  /** The base URL for OpenAI clients. */
  readonly baseUrl: string;
  /** What the app has printed so far. */
  readonly output: () => string;
  /** Ends the app with a signal, SIGTERM by default, and returns its exit code. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
}

/** The keys of the user's environment must not reach a test. */
export const WITHOUT_KEYS = {
  CALOTYPE_API_KEY: "",
  ARK_API_KEY: "",
  DASHSCOPE_API_KEY: "",
  OPENAI_API_KEY: "",
  GEMINI_API_KEY: "",
  NEXT_TELEMETRY_DISABLED: "1",
  WRANGLER_SEND_METRICS: "false",
};

/** Starts an app on a free port and waits until `/healthz` responds. */
export async function startApp(
  [program = "", ...args]: readonly string[],
  folder: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<RunningApp> {
  const port = await findFreePort();
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...WITHOUT_KEYS, PORT: String(port), ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own: npm does not pass signals to what it started.
    detached: true,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const exited = once(child, "exit");
  const app: RunningApp = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    output: () => output,
    async stop(signal = "SIGTERM") {
      signalGroup(child, signal);
      await exited;
      return child.exitCode;
    },
  };
  try {
    await vi.waitUntil(() => child.exitCode !== null || isHealthy(port), { timeout: 60_000, interval: 50 });
  } catch (error) {
    signalGroup(child, "SIGKILL");
    throw new Error(`The app did not respond: ${output}`, { cause: error });
  }
  if (child.exitCode !== null) throw new Error(`The app ended with ${child.exitCode}: ${output}`);
  return app;
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/healthz`)).ok;
  } catch {
    return false;
  }
}

function signalGroup({ pid, exitCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null) process.kill(-pid, signal);
}
