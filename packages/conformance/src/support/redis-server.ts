import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { findFreePort } from "./find-free-port.ts";
import type { Service } from "./needs-service.ts";
import { run } from "./run.ts";

/** The program, for tests that stop and start a server. */
export const REDIS_SERVER: Service = {
  name: "the program redis-server",
  variable: "REDIS_SERVER",
  url: "redis-server",
  probe: async (program) => run(program, ["--version"], tmpdir()),
};

const PATIENCE_MS = 20_000;

/** A Redis server of a test. It loses its data when it stops. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  /** Pauses the server: connections stay open, and there are no replies. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Stops the server: connections are refused. */
  readonly stop: () => Promise<void>;
  /** Starts the server again, without data, at the same address. */
  readonly start: () => Promise<void>;
  /** Stops the server and removes its folder. */
  readonly remove: () => Promise<void>;
}

export async function startRedisServer(
  program: string,
  options: readonly string[] = [],
): Promise<RedisServer> {
  // The port of the cluster bus is 10,000 higher.
  const port = await findFreePort(10_000);
  const folder = mkdtempSync(join(tmpdir(), "calotype-redis-"));
  const url = `redis://127.0.0.1:${port}`;
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, ...options];
  let server: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    server = spawn(program, args, { stdio: "ignore" });
    await untilReady(server, url);
  };
  const stop = async (): Promise<void> => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = once(server, "exit");
    server.kill("SIGCONT");
    server.kill("SIGKILL");
    await ended;
    server = undefined;
  };
  const remove = async (): Promise<void> => {
    await stop();
    rmSync(folder, { recursive: true, force: true });
  };
  await start().catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return {
    port,
    url,
    freeze: () => void server?.kill("SIGSTOP"),
    thaw: () => void server?.kill("SIGCONT"),
    start,
    stop,
    remove,
  };
}

/** Resolves when the server replies to a PING. */
async function untilReady(server: ChildProcess, url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on("error", () => undefined); // not there yet
  const watch = new AbortController();
  const { signal } = watch;
  const fail = (what: string): never => {
    throw new Error(`The Redis at ${url} ${what}.`);
  };
  try {
    await Promise.race([
      client.ping(),
      once(server, "exit", { signal }).then(() => fail("ended")),
      sleep(PATIENCE_MS, undefined, { signal }).then(() => fail("does not respond")),
    ]);
  } finally {
    watch.abort();
    client.disconnect();
  }
}
