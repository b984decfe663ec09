import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import { open, responseTo } from "@calotype/conformance/support/http-client";
import { type ServerProcess, spawnServer } from "@calotype/conformance/support/spawn-server";
import type { Part, PartContext } from "../part.ts";
import { findGrowth, type Sample } from "./soak/growth.ts";
import { createLoad, type Load } from "./soak/load.ts";
import { startProvider } from "./soak/provider.ts";
import type { ServerPlan } from "./soak/server-plan.ts";
import type { ServerSample } from "./soak/server-process.ts";

/** A run of the soak test. The seed decides the load, but not its speed. */
interface Soak {
  readonly seed: number;
  readonly seconds: number;
}

/** A steady mixed load on one server, whose resources must not grow. */
export const soak: Part<Soak> = {
  name: "soak",
  guarantees:
    "Runs a steady load of JSON, forms, streams, large base64 responses, errors and clients that disconnect. " +
    "The heap after garbage collection, buffers, resident memory, sockets, timers and open files do not grow: " +
    "their slopes (Theil-Sen) stay below the tolerances in soak/growth.ts. Between requests no money is held, " +
    "and at the end the server exits without being killed.",
  weight: 1,
  run: (context) => trySoak({ seed: context.seed, seconds: context.msLeft() / 1_000 }, context),
  replay: trySoak,
};

const PROGRAM = new URL("soak/server-process.ts", import.meta.url);
/** The number of samples of a long run. */
const SAMPLES = 60;
const MIN_SAMPLE_MS = 250;
const MIN_SAMPLES = 6;

async function trySoak(input: Soak, context: PartContext<Soak>): Promise<void> {
  context.begin(input);
  const provider = await startProvider();
  const server = await spawnServer<ServerPlan>(PROGRAM, ["--expose-gc"]).start({ providerUrl: provider.url });
  const load = createLoad(server.url, createRandom(input.seed, "soak"));
  const report = (rule: string, seen: string): Promise<void> => context.report({ rule, input, seen });
  try {
    const samples = await takeSamples(input, { server, load, report });
    for (const { measure, seen } of findGrowth(samples)) await report(`${measure} does not grow`, seen);
    const [unexpected] = load.unexpected();
    if (unexpected !== undefined) {
      await report(
        "every request gets an expected status",
        `${load.unexpected().length} others, such as ${unexpected}`,
      );
    }
    load.close();
    const code = await server.stop();
    if (code !== 0) await report("the server closes by itself", `exit code ${code}`);
    const errors = server.errors();
    if (errors.length > 0) await report("the server writes no error", errors.slice(0, 20).join("\n"));
  } finally {
    context.count("requests", load.requests());
    context.count("seconds", Math.round(input.seconds));
    load.close();
    await server.kill();
    await provider.close();
  }
}

interface RunningSoak {
  readonly server: ServerProcess;
  readonly load: Load;
  readonly report: (rule: string, seen: string) => Promise<void>;
}

async function takeSamples({ seconds }: Soak, { server, load, report }: RunningSoak): Promise<Sample[]> {
  const end = Date.now() + seconds * 1_000;
  const everyMs = Math.max(MIN_SAMPLE_MS, (seconds * 1_000) / SAMPLES);
  const samples: Sample[] = [];
  while (samples.length < MIN_SAMPLES || Date.now() < end) {
    await load.run(everyMs);
    const { held, ...sample } = await sampleWhenIdle(server.url);
    if (held !== "0") await report("no money is held between requests", held);
    samples.push({ ...sample, requests: load.requests() });
  }
  return samples;
}

/** The time in which the requests of disconnected clients end. */
const QUIET_MS = 10_000;

async function sampleWhenIdle(url: string): Promise<ServerSample> {
  const deadline = Date.now() + QUIET_MS;
  for (;;) {
    const sample = await takeSample(url);
    if (sample.held === "0" || Date.now() > deadline) return sample;
    await sleep(20);
  }
}

async function takeSample(url: string): Promise<ServerSample> {
  const incoming = await responseTo(open(url, { method: "GET", path: "/sample" }).end());
  return JSON.parse(await text(incoming));
}
