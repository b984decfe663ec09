import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import type { AfterImage, Gateway, GatewayOptions, ResultsOptions } from "@calotype/core";
import type { ResultStore, StoreImage } from "@calotype/core/stores";
import { CALLER_KEY } from "./draw-scenario.ts";
import { jobFamily } from "./job-family.ts";
import type { Build } from "./load-build.ts";
import { describe, describeBytes, type NoteCall, recordCalls } from "./record-calls.ts";
import type { Scenario } from "./scenario.ts";
import { sendCall } from "./scripted-client.ts";
import { createScriptedProvider } from "./scripted-provider.ts";
import { inVirtualTime, type VirtualTime } from "./virtual-time.ts";

/** What could be seen of a scenario, line by line: what each client got, and what the stores, the provider and the operator got. */
export type Trace = Readonly<Record<string, readonly string[]>>;

/**
 * The parts of a trace besides the clients. `stores`: the store calls of requests, in order. `images`: what was stored or given
 * to `afterImage`. `background`: the store calls of repeated work. `provider`: the calls to providers. `events`, `records`: what
 * the operator got.
 */
type Section = "stores" | "images" | "background" | "provider" | "events" | "records";

/** A scenario that runs. The two gateways of a scenario in which the process dies share all of it. */
interface Run {
  readonly scenario: Scenario;
  readonly build: Build;
  readonly time: VirtualTime;
  readonly seen: Readonly<Record<Section, string[]>>;
  /** The requests that the ledger has settled. */
  readonly settled: Set<string>;
}

/** Time in which the bodies of clients that left are read to their end, and jobs of dead processes end. */
const REST_MS = 400_000;

/** Runs a scenario with one build, in virtual time. A scenario that does not end is noted in the events. */
export function runScenario(scenario: Scenario, build: Build): Promise<Trace> {
  return inVirtualTime(async (time) => {
    const run: Run = {
      scenario,
      build,
      time,
      seen: { stores: [], images: [], background: [], provider: [], events: [], records: [] },
      settled: new Set(),
    };
    const responses = await runCalls(run).catch((error: unknown) => {
      run.seen.events.push(String(error));
      return [];
    });
    return {
      ...Object.fromEntries(responses.map((lines, index) => [`client ${index}`, lines])),
      ...run.seen,
      // Images are stored at the same time, so their order has no meaning.
      images: run.seen.images.toSorted(),
      // Repeated work is done beside the requests. How often it finds nothing has no meaning either.
      background: [...new Set(run.seen.background)].toSorted(),
    };
  });
}

/** Returns what each client saw. */
async function runCalls(run: Run): Promise<readonly (readonly string[])[]> {
  const { scenario, time, settled } = run;
  const open = createOpen(run);
  let gateway = open();
  let death: Promise<void> | undefined;
  if (scenario.diesAtMs !== undefined) {
    time.after(scenario.diesAtMs, () => {
      death = gateway.close({ deadlineSeconds: 0 });
      gateway = open();
      gateway.start();
    });
  }
  const clients = scenario.calls.map(async (call) => {
    await time.sleep(call.atMs);
    return sendCall(call, { gateway, time, isSettled: (id) => settled.has(id) });
  });
  const responses = await time.run(Promise.all(clients));
  await time.run(time.sleep(REST_MS));
  await time.run(Promise.all([death, gateway.close()]));
  return responses;
}

/** Returns a function that opens a gateway on the stores of the run. */
function createOpen(run: Run): () => Gateway {
  const { scenario, build, time, seen } = run;
  const options = toOptions(run);
  let requests = 0;
  const transport = createScriptedProvider(scenario, {
    time,
    TransportError: build.TransportError,
    note: (call) => void seen.provider.push(call),
  });
  return () =>
    build.createGateway(options, {
      now: time.now,
      random: createRandom(0, "gateway"),
      sleep: (ms, signal) => time.sleep(ms, signal),
      repeat: (work, everyMs) => time.repeat(work, everyMs),
      createId: () => `req_${++requests}`,
      transport,
      maxHeldImageBytes: scenario.maxHeldImageBytes,
    });
}

function toOptions(run: Run): GatewayOptions {
  const { models, prices, onLost, streamFormat, heartbeatSeconds, showCharge, hasLimits } = run.scenario;
  const { events, records } = run.seen;
  return {
    families: [...run.build.families, jobFamily],
    models: Object.fromEntries(Object.entries(models).map(([model, family]) => [model, { family }])),
    channels: [...new Set(Object.values(models))].map((family) => ({
      id: family,
      family,
      apiKey: [`${family}-key-1`, `${family}-key-2`],
      baseUrl: `https://${family}.example`,
    })),
    callers: [{ id: "tester", key: CALLER_KEY, ...(hasLimits && LIMITS) }],
    billing: { model_details: prices, onLost },
    ...createStores(run),
    streamFormat,
    heartbeatSeconds,
    showCharge,
    onUsage: (record) => void records.push(`record ${describe(record)}`),
    onRequest: (event) => void events.push(`request ${describe(event)}`),
    onError: (event) => void events.push(`error ${describe(event)}`),
    // The words of log lines may change.
    logger: { warn: () => undefined, error: () => undefined },
  };
}

const LIMITS = { budget: "60", limits: { concurrent: 2, imagesPerMinute: 8 } };

/** Calls of sweeps, deliveries and workers, and reads of pauses. */
const BACKGROUND =
  /^ledger\.(?:sweep|takeKept|takeUndelivered|markDelivered|tasks\.(?:sweep|take)|(?:\w+\.)?watch)\(|^admission\.admit\(.*"id":"calotype-pauses"/;

/** Stores in memory whose calls are noted in order. One of the calls of requests may fail. */
function createStores({ scenario, build, time, seen, settled }: Run): Partial<GatewayOptions> {
  const note: NoteCall = (call) => {
    if (BACKGROUND.test(call)) {
      seen.background.push(call);
      return undefined;
    }
    seen.stores.push(call);
    return seen.stores.length - 1 === scenario.failingStoreCall ? new Error("The store failed.") : undefined;
  };
  const ledger = recordCalls("ledger", build.createMemoryLedger({ now: time.now }), note);
  const noteImage = (image: string): void => void seen.images.push(image);
  const results = createResults(scenario, note, noteImage);
  return {
    ledger: {
      ...ledger,
      async settle(record) {
        const result = await ledger.settle(record);
        settled.add(record.id);
        return result;
      },
    },
    admission: recordCalls("admission", build.createMemoryAdmissionStore({ now: time.now }), note),
    results,
    afterImage: results && createAfterImage(scenario.afterImage, build, noteImage),
  };
}

function createResults(
  { results: kind, storesNative }: Scenario,
  note: NoteCall,
  noteImage: (image: string) => void,
): ResultsOptions | undefined {
  if (kind === "none") return undefined;
  const images = new Map<string, { readonly contentType: string; readonly bytes: Buffer }>();
  const store: ResultStore = {
    async put({ id, contentType, body }) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of body) chunks.push(Buffer.from(chunk));
      const bytes = Buffer.concat(chunks);
      images.set(id, { contentType, bytes });
      noteImage(`stored ${contentType} ${describeBytes(bytes)}`);
    },
    async open(id) {
      const image = images.get(id);
      if (image === undefined) return undefined;
      const { contentType, bytes } = image;
      return { contentType, byteLength: bytes.length, body: readOnce(bytes) };
    },
    link: ({ id }) => `https://store.example/${id}`,
  };
  const recorded = recordCalls("results", store, note);
  if (kind === "function") {
    const storeImage: StoreImage = (image) =>
      recorded.put(image).then(() => `https://store.example/${image.id}`);
    return { store: storeImage, native: storesNative };
  }
  return {
    store: recorded,
    urls: kind,
    native: storesNative,
    secrets: ["a secret of at least 32 characters, for tests"],
  };
}

async function* readOnce(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield Uint8Array.from(bytes);
}

function createAfterImage(
  kind: Scenario["afterImage"],
  { GatewayError }: Build,
  noteImage: (image: string) => void,
): AfterImage | undefined {
  if (kind === "none") return undefined;
  return async (image, { index, ...call }) => {
    const bytes = await image.bytes();
    const { contentType, size } = image;
    noteImage(
      `afterImage ${describe({ contentType, size, index, ...call })} ${describeBytes(Buffer.from(bytes))}`,
    );
    if (kind === "looks" || index === 1) return undefined;
    if (kind === "changes") return Buffer.concat([bytes, Buffer.from("signed")]);
    throw kind === "refuses"
      ? new GatewayError("request_refused", "Not this image.")
      : new Error("A defect.");
  };
}
