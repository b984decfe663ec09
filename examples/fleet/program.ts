import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A running part of the fleet. */
export interface Running {
  /** The id of its process, if it has its own. */
  readonly pid?: number | undefined;
  readonly stop: () => Promise<void>;
}

/** A program that listens on a loopback port. */
export interface ProgramOptions extends SpawnOptions {
  readonly name: string;
  readonly port: number;
  /** The signal that ends it. Default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
}

const PATIENCE_MS = 20_000;

/** Starts a program and waits until its port accepts connections. Rejects if the program ends before. */
export async function startProgram(
  command: string,
  args: readonly string[],
  { name, port, stopSignal = "SIGTERM", ...options }: ProgramOptions,
): Promise<Running> {
  // In its own process group, so that Ctrl+C reaches only the script, which ends the programs in order.
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"], detached: true, ...options });
  const ended = Promise.race([once(child, "exit"), once(child, "error")]);
  const stop = async (): Promise<void> => {
    if (isOver(child)) return;
    child.kill(stopSignal);
    await ended;
  };
  try {
    await untilListening(child, port);
  } catch (error) {
    await stop();
    throw new Error(`${name} did not start.`, { cause: error });
  }
  return { pid: child.pid, stop };
}

/**
 * Below the ephemeral ports, so that the system does not give one of these ports to another program in the meantime.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_000;

/** Returns a free port. */
export async function findPort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error("There is no free port.");
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    server.close();
    return true;
  } catch {
    return false; // the port is in use
  }
}

async function untilListening(child: ChildProcess, port: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await isListening(port))) {
    if (isOver(child)) throw new Error(`It ended with ${child.exitCode ?? child.signalCode}.`);
    if (performance.now() > deadline) throw new Error(`Nothing listens on port ${port}.`);
    await sleep(50);
  }
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false; // not yet
  } finally {
    socket.destroy();
  }
}

function isOver({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}
