import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";

/** How a program ended whose port was busy. */
export interface BusyPortResult {
  readonly code: number | null;
  /** Whether an error of the program names the port. */
  readonly namesPort: boolean;
  /** The lines that say that the program listens, or that name an address of it. There must be none. */
  readonly promises: readonly string[];
  readonly output: string;
}

/** What every program does. */
export const ENDS_WITH_ERROR = { code: 1, namesPort: true, promises: [] };

/** A server that waits for requests does not end, so it is stopped. */
const ENDS_WITHIN_MS = 60_000;

/**
 * Runs a program on a port that another server listens on, and waits until it ends. A program that does not end is killed,
 * and its code is `null`.
 *
 * @param prepare gets the port and returns the command, such as one that runs a file in which the port was written
 */
export async function runOnBusyPort(
  prepare: (port: number) => readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env?: Readonly<Record<string, string | undefined>> },
): Promise<BusyPortResult> {
  // On all addresses, as servers listen by default.
  const blocker = createServer().listen(0);
  await once(blocker, "listening");
  const address = blocker.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  try {
    const [program = "", ...args] = prepare(port);
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, PORT: String(port), ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: ENDS_WITHIN_MS,
      killSignal: "SIGKILL",
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (output += text));
    await once(child, "close");
    return {
      code: child.exitCode,
      namesPort: new RegExp(String.raw`(EADDRINUSE|in use).*\b${port}\b|\b${port}\b.*in use`, "i").test(
        output,
      ),
      promises: output.split("\n").filter((line) => line.includes(`http://localhost:${port}`)),
      output,
    };
  } finally {
    blocker.close();
    await once(blocker, "close");
  }
}
