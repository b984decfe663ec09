import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A process that becomes a server. */
export interface NextServer<Plan> {
  /** Resolves when the server listens. */
  start(plan: Plan): Promise<ServerProcess>;
  /** When this has resolved, the process has ended. */
  kill(): Promise<void>;
}

/** A server in a separate process. */
export interface ServerProcess {
  readonly url: string;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
  /** The lines on stderr. */
  errors(): readonly string[];
  /** Whether it ended by SIGKILL. */
  isKilled(): boolean;
  /** Nothing of it runs any more when this has resolved. */
  kill(): Promise<void>;
  /** Sends a signal, and does not wait. */
  signal(name: NodeJS.Signals): void;
  /** Ends the server with SIGTERM and returns its exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts a program that loads its code, reads its plan as JSON from standard input, and prints its address when it
 * listens.
 *
 * @param flags command-line flags of Node
 */
export function spawnServer<Plan>(program: URL, flags: readonly string[] = []): NextServer<Plan> {
  const child = spawn(process.execPath, [...flags, fileURLToPath(program)], { stdio: "pipe" });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = once(child, "close");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  const listening = once(createInterface({ input: child.stdout }), "line");
  const failed = ended.then(() =>
    Promise.reject(new Error(`The server ended before it listened: ${errors}`)),
  );
  failed.catch(() => undefined);
  return {
    kill,
    async start(plan) {
      child.stdin.end(JSON.stringify(plan));
      const [url] = await Promise.race([listening, failed]);
      return {
        url: String(url),
        ended,
        errors: () => errors.split("\n").filter((line) => line !== ""),
        isKilled: () => child.signalCode === "SIGKILL",
        kill,
        signal: (name) => void child.kill(name),
        async stop() {
          child.kill("SIGTERM");
          await ended;
          return child.exitCode;
        },
      };
    },
  };
}
