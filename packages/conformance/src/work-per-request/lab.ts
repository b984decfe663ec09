import { once } from "node:events";
import { Agent, type ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { open, responseTo } from "../support/http-client.js";
import { listen } from "../support/listen.js";
import { type GatewayProcess, startGateway } from "./gateway-process.js";
import { SCENARIOS, type Scenario } from "./scenarios.js";
import type { Work } from "./work.js";

/** A provider, a client and a gateway in a separate process. Only the gateway is measured. */
export interface Lab {
  /** The work of the gateway for one request: the mean of several sequential requests. */
  countWork(scenario: Scenario, requests: number): Promise<Work>;
  /** The promises of the gateway for one request: the fewest of several, because the network may cut a body into more chunks. */
  countPromises(scenario: Scenario): Promise<number>;
  /** The source files of core that run for each of several requests, so that work at an interval is not listed. */
  listFiles(scenario: Scenario): Promise<readonly string[]>;
  /** The heap bytes that the gateway allocates for one request: the mean of several. */
  countAllocated(scenario: Scenario, requests: number): Promise<number>;
  /**
   * The bytes that the gateway holds for one request after half of the response (for a small response: before it).
   * They are compared with the memory after small requests only, so memory that is kept for the next request counts.
   */
  countHeld(scenario: Scenario): Promise<number>;
  close(): Promise<void>;
}

/** How often an exact figure is counted. */
const SAMPLES = 6;

/** @param flags command-line flags for the runtime of the gateway */
export async function openLab(flags: readonly string[] = []): Promise<Lab> {
  const provider = await startProvider();
  const gateway = await startGateway(provider.url, flags);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });

  const run = async (scenario: Scenario, requests: number): Promise<void> => {
    provider.respondWith(scenario);
    for (let count = 0; count < requests; count++) await exchange(gateway, scenario, agent).ended;
  };

  await run(SCENARIOS.small, 20);
  const idle = await gateway.countHeld();

  return {
    async countWork(scenario, requests) {
      await run(scenario, 2);
      const work = await gateway.countWork(() => run(scenario, requests));
      return divide(work, requests);
    },
    async countPromises(scenario) {
      const fewest = async (requests: number): Promise<number> => {
        const counts = [];
        for (let time = 0; time < SAMPLES; time++) {
          const { promises } = await gateway.countWork(() => run(scenario, requests));
          counts.push(promises);
        }
        return Math.min(...counts);
      };
      await run(scenario, 2);
      // Without the promises of the commands.
      return (await fewest(1)) - (await fewest(0));
    },
    async listFiles(scenario) {
      const lists = [];
      for (let time = 0; time < SAMPLES; time++) {
        lists.push(await gateway.listFiles(() => run(scenario, 1)));
      }
      const [first = [], ...others] = lists;
      return first.filter((file) => others.every((list) => list.includes(file)));
    },
    async countAllocated(scenario, requests) {
      await run(scenario, 200);
      const bytes = await gateway.countAllocated(() => run(scenario, requests));
      if (bytes === undefined) throw new Error("There was a garbage collection while the heap was measured.");
      return bytes / requests;
    },
    async countHeld(scenario) {
      const { paused, goOn } = provider.pauseIn(scenario);
      const { received, ended } = exchange(gateway, scenario, agent);
      const sent = await paused;
      while (received() < sent) await nextTurn();
      const held = await gateway.countHeld();
      goOn();
      await ended;
      return held - idle;
    },
    async close() {
      agent.destroy();
      await gateway.stop();
      await provider.close();
    },
  };
}

function divide(work: Work, requests: number): Work {
  const means = Object.entries<number>({ ...work }).map(([name, count]) => [name, count / requests] as const);
  return { ...work, ...Object.fromEntries(means) };
}

/** One request, and the number of bytes of its response body that have arrived. */
function exchange(
  { url }: GatewayProcess,
  { path, contentType, body }: Scenario,
  agent: Agent,
): { received: () => number; ended: Promise<void> } {
  let received = 0;
  const headers = {
    authorization: "Bearer caller-key",
    "content-type": contentType,
    "content-length": String(body.length),
  };
  const outgoing = open(url, { path, headers }, agent);
  outgoing.end(body);
  const read = async (): Promise<void> => {
    const incoming = await responseTo(outgoing);
    incoming.on("data", (chunk: Buffer) => (received += chunk.length));
    await once(incoming, "end");
    if (incoming.statusCode !== 200) throw new Error(`The gateway responded with ${incoming.statusCode}.`);
  };
  return { received: () => received, ended: read() };
}

interface Provider {
  readonly url: string;
  respondWith(scenario: Scenario): void;
  /**
   * Pauses once in the middle of the next response. `paused` resolves with the number of body bytes that were
   * sent.
   */
  pauseIn(scenario: Scenario): { paused: Promise<number>; goOn: () => void };
  close(): Promise<void>;
}

async function startProvider(): Promise<Provider> {
  let scenario: Scenario | undefined;
  let pause: { reached: (sent: number) => void; over: Promise<void> } | undefined;

  const respond = async (res: ServerResponse): Promise<void> => {
    const { responseType = "", response: pieces = [] } = scenario ?? {};
    const length = pieces.length === 1 ? { "content-length": pieces[0]?.length ?? 0 } : {};
    res.writeHead(200, { "content-type": responseType, ...length });
    const [first, second] = halve(pieces);
    for (const piece of first) await write(res, piece);
    if (pause !== undefined) {
      pause.reached(first.reduce((sum, piece) => sum + piece.length, 0));
      await pause.over;
      pause = undefined;
    }
    for (const piece of second) await write(res, piece);
    res.end();
  };

  const { url, close } = await listen((req, res) => {
    req.resume();
    req.on("end", () => void respond(res));
  });
  return {
    url,
    close,
    respondWith: (next) => (scenario = next),
    pauseIn(next) {
      scenario = next;
      const reached = Promise.withResolvers<number>();
      const over = Promise.withResolvers<void>();
      pause = { reached: reached.resolve, over: over.promise };
      return { paused: reached.promise, goOn: over.resolve };
    },
  };
}

/** The pieces of a response before and after its middle. All pieces of a short response come after. */
function halve(pieces: readonly Buffer[]): [readonly Buffer[], readonly Buffer[]] {
  const middle = Math.floor(pieces.length / 2);
  if (pieces.length > 1) return [pieces.slice(0, middle), pieces.slice(middle)];
  const [whole = Buffer.alloc(0)] = pieces;
  const half = whole.length < 10_000 ? 0 : Math.floor(whole.length / 2);
  return half === 0 ? [[], [whole]] : [[whole.subarray(0, half)], [whole.subarray(half)]];
}

/** Writes each piece in a separate packet if possible. */
async function write(res: ServerResponse, piece: Buffer): Promise<void> {
  await new Promise((resolve) => {
    res.write(piece, resolve);
  });
  await nextTurn();
}
