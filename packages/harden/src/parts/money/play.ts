import { AsyncLocalStorage } from "node:async_hooks";
import { createRandom } from "@calotype/conformance/fleet-simulation/create-random";
import {
  createVirtualClock,
  type VirtualClock,
} from "@calotype/conformance/fleet-simulation/create-virtual-clock";
import {
  createGateway,
  createMemoryAdmissionStore,
  createMemoryLedger,
  type Gateway,
  type GatewayResponse,
  type UsageRecord,
} from "@calotype/core";
import { type CheckedLedger, checkLedger } from "./checked-ledger.ts";
import { MODELS, toGatewayRequest } from "./client-request.ts";
import { createProvider, type Served } from "./provider.ts";
import { PRICES, type Scenario, type ScenarioCaller, type ScenarioRequest, type Send } from "./scenario.ts";

/** What became of one send of a client. */
export interface Sighting extends Served {
  readonly send: Send;
  readonly beganMs: number;
  /** When the client left. */
  leftMs?: number;
  /** When the response ended, or the client stopped reading it. Absent: it never did. */
  endedMs?: number;
  id?: string;
  status?: number;
  isReplay?: boolean;
  /** Images that the client got, and the code of the error, if it read to the end. */
  seen?: { readonly images: number; readonly code: string | undefined };
  /** The body broke off. */
  isBroken?: boolean;
}

/** A run that is over. */
export interface Played {
  readonly scenario: Scenario;
  readonly sightings: readonly Sighting[];
  /** Concurrent sends after everything ended, of callers that have a limit. */
  readonly probes: readonly Sighting[];
  readonly records: readonly UsageRecord[];
  /** Records that `onUsage` got. */
  readonly delivered: readonly UsageRecord[];
  readonly ledger: CheckedLedger;
  readonly isClosed: boolean;
}

/** Where the virtual clock begins. */
export const START_MS = Date.UTC(2027, 0, 1);

/** Everything that a scenario begins has ended by then, and every cooldown and lease is over. */
const PATIENCE_MS = 2 * 3_600_000;
/** Real time that closing may take. */
const CLOSE_MS = 10_000;

/** Plays a scenario in virtual time against a real gateway. */
export async function playScenario(scenario: Scenario): Promise<Played> {
  const stage = openStage(scenario);
  const sightings: Sighting[] = [];
  for (const request of scenario.requests) {
    for (const send of request.sends) sightings.push(stage.plan(request, send));
  }
  await stage.clock.pass(PATIENCE_MS);
  const probes = scenario.callers.flatMap((caller) =>
    caller.budget === undefined ? planProbes(stage, caller) : [],
  );
  await stage.clock.pass(PATIENCE_MS);
  const isClosed = await closesInTime(stage.gateway);
  const records = await readAll(stage.ledger);
  return { scenario, sightings, probes, records, delivered: stage.delivered, ledger: stage.ledger, isClosed };
}

interface Stage {
  readonly clock: VirtualClock;
  readonly gateway: Gateway;
  readonly ledger: CheckedLedger;
  readonly delivered: UsageRecord[];
  /** The send happens when its time has come. */
  plan(request: ScenarioRequest, send: Send): Sighting;
}

function openStage(scenario: Scenario): Stage {
  const clock = createVirtualClock(START_MS);
  const working = new AsyncLocalStorage<Served>();
  const ledger = checkLedger(
    createMemoryLedger({ now: clock.now, maxRecords: 100_000 }),
    scenario,
    clock.now,
  );
  const admission = createMemoryAdmissionStore({ now: clock.now });
  const delivered: UsageRecord[] = [];
  let onAdmit: (() => void) | undefined;
  const gateway = createGateway(
    {
      ...describeGateway(scenario),
      ledger,
      admission: {
        ...admission,
        admit(request) {
          onAdmit?.();
          return admission.admit(request);
        },
      },
      onUsage: (record) => void delivered.push(record),
      logger: { warn: () => undefined, error: () => undefined },
    },
    {
      now: clock.now,
      random: createRandom(scenario.seed, "gateway"),
      transport: createProvider({ clock, current: () => currentOf(working) }),
      repeat: (work, everyMs) => clock.repeat(work, everyMs),
    },
  );

  const run = async (sighting: Sighting): Promise<void> => {
    const signal = { aborted: false };
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const waitToLeave = async (leaveAfterMs: number): Promise<void> => {
      await clock.sleep(leaveAfterMs);
      if (sighting.endedMs !== undefined) return;
      sighting.leftMs = clock.now() - START_MS;
      signal.aborted = true;
      leave();
    };
    if (sighting.send.leaveAfterMs !== undefined) void waitToLeave(sighting.send.leaveAfterMs);
    const answered = working.run(sighting, () => gateway.handle(toGatewayRequest(sighting.request, signal)));
    if (answered === null) throw new Error("The gateway does not serve the path.");
    // The hash of an idempotency key and the parser of forms work beside the virtual clock.
    const reachedStore = new Promise<void>((resolve) => {
      onAdmit = resolve;
    });
    clock.standStillFor(Promise.race([reachedStore, answered]));
    await readResponse(sighting, await answered, left);
    sighting.endedMs = clock.now() - START_MS;
  };

  return {
    clock,
    gateway,
    ledger,
    delivered,
    plan(request, send) {
      const beganMs = Math.max(send.atMs, clock.now() - START_MS);
      const sighting: Sighting = { request, send, beganMs, attempts: [] };
      void clock.sleep(beganMs - (clock.now() - START_MS)).then(() => run(sighting));
      return sighting;
    },
  };
}

function currentOf(working: AsyncLocalStorage<Served>): Served {
  const current = working.getStore();
  if (current === undefined) throw new Error("A provider was called outside of a request.");
  return current;
}

function describeGateway({ channels, callers, pricing }: Scenario): Parameters<typeof createGateway>[0] {
  const perImage = { pricing_mode: "per-request", model_price: PRICES.image } as const;
  const perToken = { pricing_mode: "per-token", output_token_price: PRICES.millionTokens } as const;
  return {
    models: { [MODELS.seedream]: { family: "seedream" }, [MODELS["qwen-image"]]: { family: "qwen-image" } },
    channels: channels.map(({ id, family, keys, priority, retryUnsafe }) => ({
      id,
      family,
      apiKey: Array.from({ length: keys }, (_, index) => `${id}-key-${index}`),
      baseUrl: `https://${id}.test`,
      priority,
      retryUnsafe,
    })),
    callers: callers.map(({ concurrent, ...caller }) => ({
      ...caller,
      key: caller.id,
      ...(concurrent !== undefined && { limits: { concurrent } }),
    })),
    billing: {
      model_details: {
        [MODELS.seedream]: pricing === "per-token" ? perToken : perImage,
        [MODELS["qwen-image"]]: perImage,
      },
      group_ratio: { default: 1, partner: PRICES.partnerRatio },
    },
  };
}

/** Reads like a host: to the end, or until the client leaves. */
async function readResponse(
  sighting: Sighting,
  response: GatewayResponse,
  left: Promise<void>,
): Promise<void> {
  const { status, headers, body } = response;
  sighting.id = headers["x-request-id"] ?? "";
  sighting.status = status;
  sighting.isReplay = headers["idempotent-replayed"] === "true";
  const text = isWhole(body) ? toText(body) : await readChunks(sighting, body, left);
  if (sighting.leftMs !== undefined || text === undefined) return;
  sighting.seen = isEvents(response) ? seeEvents(text) : seeJson(text);
}

function isWhole(body: GatewayResponse["body"]): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array;
}

function toText(body: string | Uint8Array): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

async function readChunks(
  sighting: Sighting,
  body: AsyncIterable<Uint8Array>,
  left: Promise<void>,
): Promise<string | undefined> {
  const chunks = body[Symbol.asyncIterator]();
  void left.then(() => chunks.return?.().catch(() => undefined));
  if (sighting.leftMs !== undefined) return undefined;
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) {
      text += decoder.decode(chunk, { stream: true });
    }
    return text;
  } catch {
    sighting.isBroken = true;
    return undefined;
  }
}

function isEvents({ headers }: GatewayResponse): boolean {
  return headers["content-type"]?.startsWith("text/event-stream") === true;
}

function seeEvents(text: string): NonNullable<Sighting["seen"]> {
  const images = [...text.matchAll(/^event: image_generation\.partial_succeeded\ndata: .*\n\n/gm)].length;
  const error = /^event: error\ndata: (.*)\n\n/m.exec(text)?.[1];
  return { images, code: error === undefined ? undefined : codeOf(error) };
}

function seeJson(text: string): NonNullable<Sighting["seen"]> {
  const body: { readonly data?: readonly object[] } = JSON.parse(text);
  const images = body.data?.filter((item) => "url" in item || "b64_json" in item) ?? [];
  return { images: images.length, code: body.data === undefined ? codeOf(text) : undefined };
}

function codeOf(text: string): string {
  const body: { readonly error?: { readonly code?: unknown } } = JSON.parse(text);
  return String(body.error?.code);
}

/** As many requests at once as the caller may have: they all find a place if none was lost. */
function planProbes(stage: Stage, { id, concurrent = 0 }: ScenarioCaller): Sighting[] {
  return Array.from({ length: concurrent }, (_, index) =>
    stage.plan(
      {
        name: `probe-${id}-${index}`,
        caller: id,
        kind: "json",
        n: 1,
        hasKey: false,
        sends: [],
        attempts: [{ does: "makes", images: 1, report: "full", afterMs: 60_000 }],
      },
      { atMs: 0 },
    ),
  );
}

async function closesInTime(gateway: Gateway): Promise<boolean> {
  const patience = new AbortController();
  const timedOut = new Promise<false>((resolve) => {
    const timer = setTimeout(() => resolve(false), CLOSE_MS);
    patience.signal.addEventListener("abort", () => clearTimeout(timer));
  });
  const isClosed = await Promise.race([gateway.close().then(() => true), timedOut]);
  patience.abort();
  return isClosed;
}

async function readAll(ledger: CheckedLedger): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for await (const record of ledger.records({})) records.push(record);
  return records;
}
