import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { callServer, type Sighting } from "./call-server.ts";
import { planCall } from "./start-load.ts";
import { type PlannedTask, runTaskClient, type TaskSighting } from "./task-client.ts";

/** Clients that submit tasks beside clients that wait for their responses. */
export interface TaskLoad {
  /** Stops the load. Resolves with what the clients saw when all requests have ended. */
  stop(): Promise<{ readonly tasks: readonly TaskSighting[]; readonly calls: readonly Sighting[] }>;
}

const CLIENTS = 8;
/** The emulator remembers 1,000 requests, and a task takes up to three. */
const MAX_REQUESTS = 450;

/** Calls a server, or several in turn, until it is stopped. It continues when a server is dead. */
export function startTaskLoad(nextUrl: () => string, name: string, random: () => number): TaskLoad {
  const agent = new Agent({ keepAlive: true });
  const stopping = new AbortController();
  const isOver = (): boolean => stopping.signal.aborted;
  const tasks: TaskSighting[] = [];
  const calls: Sighting[] = [];
  let count = 0;
  const run = async (): Promise<void> => {
    while (!isOver() && count < MAX_REQUESTS) {
      count++;
      const own = `${name}-${count}`;
      if (random() < 0.3) calls.push(await callServer(nextUrl(), planCall(own, random), agent));
      else tasks.push(await runTaskClient(planTask(own, random), { nextUrl, agent, isOver }));
      await sleep(random() * 10);
    }
  };
  const clients = Array.from({ length: CLIENTS }, run);
  return {
    async stop() {
      stopping.abort();
      await Promise.all(clients);
      agent.destroy();
      return { tasks, calls };
    },
  };
}

function planTask(name: string, random: () => number): PlannedTask {
  const caller = random();
  const follow = random();
  return {
    name,
    caller: caller < 0.2 ? "trial" : caller < 0.4 ? "busy" : "shop",
    n: random() < 0.5 ? 1 : 3,
    single: random() < 0.3,
    nowhere: random() < 0.1,
    stream: false,
    hasKey: random() < 0.6,
    leaveAfterMs: random() < 0.2 ? random() * 10 : undefined,
    cancelAfterMs: random() < 0.25 ? random() * 20 : undefined,
    follow: follow < 0.3 ? "poll" : follow < 0.4 ? "wait" : follow < 0.5 ? "events" : "none",
  };
}
