import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A process that will be a server. */
export interface NextServer<Plan> {
  /** Resolves when it listens. */
  start(plan: Plan): Promise<ServerProcess>;
  /** Nothing of it runs any more when this has resolved. */
  kill(): Promise<void>;
}

/** A server in a process of its own. */
export interface ServerProcess {
  readonly url: string;
  /** Resolves when it has ended, in whatever way. */
  readonly ended: Promise<unknown>;
  /** The lines of its error output. */
  errors(): readonly string[];
  /** Whether it ended by SIGKILL. */
  isKilled(): boolean;
  /** Nothing of it runs any more when this has resolved. */
  kill(): Promise<void>;
  /** Tells it to end, and gives its exit code. */
  stop(): Promise<number | null>;
}

/**
 * Starts a program that loads its code, reads its plan as JSON to the end of its input, and prints its address when it
 * listens.
 *
 * @param flags of Node
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
        async stop() {
          child.kill("SIGTERM");
          await ended;
          return child.exitCode;
        },
      };
    },
  };
}
