import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { callServer, type PlannedCall, type Sighting } from "./call-server.ts";

/** Parallel clients, each of which sends one request after another. */
export interface Load {
  /** Stops the load. Resolves with the results when all requests have ended. */
  stop(): Promise<readonly Sighting[]>;
}

const CLIENTS = 8;

/** Calls a server, or several in turn, until it is stopped. It continues when the server is dead. */
export function startLoad(nextUrl: string | (() => string), name: string, random: () => number): Load {
  const agent = new Agent({ keepAlive: true });
  const sightings: Sighting[] = [];
  const stopping = new AbortController();
  let count = 0;
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      count++;
      const url = typeof nextUrl === "string" ? nextUrl : nextUrl();
      sightings.push(await callServer(url, planCall(`${name}-${count}`, random), agent));
      await sleep(random() * 5);
    }
  };
  const clients = Array.from({ length: CLIENTS }, run);
  return {
    async stop() {
      stopping.abort();
      await Promise.all(clients);
      agent.destroy();
      return sightings;
    },
  };
}

/** Draws a request of a client. */
export function planCall(name: string, random: () => number): PlannedCall {
  const single = random() < 0.2;
  return {
    name,
    caller: random() < 0.3 ? "trial" : "shop",
    n: random() < 0.5 ? 1 : 3,
    single,
    stream: !single && random() < 0.5,
    nowhere: random() < 0.1,
    leaveAfterMs: random() < 0.15 ? random() * 80 : undefined,
  };
}
