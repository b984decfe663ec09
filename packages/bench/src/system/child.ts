import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { ChildMessage } from "../processes/parent.ts";
import { pinTo } from "./cores.ts";

/** A child process. */
export interface Child {
  readonly pid: number;
  /** Resolves to its port when it listens. @throws if it ends before, or takes too long */
  listening(): Promise<number>;
  /** Sends a question and resolves with the JSON reply. @throws the error that the process replied with */
  ask(question: object): Promise<string>;
  /** The last part of its output. */
  output(): string;
  stop(): Promise<void>;
}

/** The options of a process. */
export interface ChildOptions {
  readonly core?: number | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly cwd?: string | undefined;
  /** Whether it accepts messages. Only our own programs do. */
  readonly hasMessages?: boolean | undefined;
}

/** Processes that still run are ended together with this process. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

const MAX_WAIT_MS = 150_000;
const MAX_OUTPUT = 4_000;

/** Starts a program, on the given core if there is one. It ends together with this process. */
export function startChild(command: readonly string[], options: ChildOptions = {}): Child {
  const [program = "", ...args] = pinTo(options.core, command);
  const channel = options.hasMessages === false ? [] : (["ipc"] as const);
  const child = spawn(program, args, {
    stdio: ["ignore", "pipe", "pipe", ...channel],
    cwd: options.cwd,
    env: { ...plainEnvironment(), ...options.env },
  });
  const readOutput = keepOutput(child);
  running.add(child);
  child.once("exit", () => running.delete(child));
  const receive = async (): Promise<ChildMessage> => {
    const waiting = new AbortController();
    const signal = AbortSignal.any([waiting.signal, AbortSignal.timeout(MAX_WAIT_MS)]);
    const ended = once(child, "exit", { signal }).then(() => {
      throw new Error(`${command.join(" ")} ended:\n${readOutput()}`);
    });
    ended.catch(() => undefined);
    try {
      const [message]: unknown[] = await Promise.race([once(child, "message", { signal }), ended]);
      const received: ChildMessage = JSON.parse(String(message));
      return received;
    } finally {
      waiting.abort();
    }
  };
  return {
    pid: child.pid ?? 0,
    async listening() {
      const message = await receive();
      if (message.kind === "listening") return message.port;
      throw new Error(`${command.join(" ")} sent another message instead of its port.`);
    },
    async ask(question) {
      const received = receive();
      child.send(JSON.stringify(question));
      const message = await received;
      if (message.kind === "reply") return JSON.stringify(message.reply);
      throw new Error(message.kind === "failure" ? message.error : "The process was restarted.");
    },
    output: readOutput,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill();
      const timer = setTimeout(() => child.kill("SIGKILL"), 3_000);
      await exited;
      clearTimeout(timer);
    },
  };
}

function keepOutput({ stdout, stderr }: ChildProcess): () => string {
  let output = "";
  for (const stream of [stdout, stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT);
    });
  }
  return () => output;
}

/** The environment without variables that redirect requests or make Node slower. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^NODE_|_proxy$/i.test(name)));
}
