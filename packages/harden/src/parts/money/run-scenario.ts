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
  type UsageRecord,
} from "@calotype/core";
import type { GatewayResponse } from "@calotype/core/adapter";
import { type CheckedLedger, checkLedger } from "./checked-ledger.ts";
import { MODELS, toGatewayRequest } from "./client-request.ts";
import { createProvider, type Served } from "./provider.ts";
import { PRICES, type Scenario, type ScenarioCaller, type ScenarioRequest, type Send } from "./scenario.ts";

/** One send of a client, and its response. */
export interface SendResult extends Served {
  readonly send: Send;
  readonly beganMs: number;
  /** When the client disconnected. */
  leftMs?: number;
  /** When the response ended or the client stopped reading. Absent: the response did not end. */
  endedMs?: number;
  id?: string;
  status?: number;
  isReplay?: boolean;
  /** The images and the error code that the client got, if it read the whole response. */
  seen?: { readonly images: number; readonly code: string | undefined };
  /** True if the body broke off. */
  isBroken?: boolean;
}

/** A scenario that has run. */
export interface ScenarioRun {
  readonly scenario: Scenario;
  readonly results: readonly SendResult[];
  /** Concurrent sends after all others have ended, by callers with a limit. */
  readonly probes: readonly SendResult[];
  readonly records: readonly UsageRecord[];
  /** The records that `onUsage` received. */
  readonly delivered: readonly UsageRecord[];
  readonly ledger: CheckedLedger;
  readonly isClosed: boolean;
}

/** The start of the virtual clock. */
export const START_MS = Date.UTC(2027, 0, 1);

/** Virtual time in which all requests, cooldowns and leases of a scenario end. */
const SETTLE_MS = 2 * 3_600_000;
/** The real time that closing may take. */
const CLOSE_MS = 10_000;

/** Runs a scenario in virtual time against a real gateway. */
export async function runScenario(scenario: Scenario): Promise<ScenarioRun> {
  const simulation = openSimulation(scenario);
  const results: SendResult[] = [];
  for (const request of scenario.requests) {
    for (const send of request.sends) results.push(simulation.plan(request, send));
  }
  await simulation.clock.pass(SETTLE_MS);
  const probes = scenario.callers.flatMap((caller) =>
    caller.budget === undefined ? planProbes(simulation, caller) : [],
  );
  await simulation.clock.pass(SETTLE_MS);
  const isClosed = await closesInTime(simulation.gateway);
  const records = await readAll(simulation.ledger);
  return {
    scenario,
    results,
    probes,
    records,
    delivered: simulation.delivered,
    ledger: simulation.ledger,
    isClosed,
  };
}

interface Simulation {
  readonly clock: VirtualClock;
  readonly gateway: Gateway;
  readonly ledger: CheckedLedger;
  readonly delivered: UsageRecord[];
  /** Sends the request at the time of the send. */
  plan(request: ScenarioRequest, send: Send): SendResult;
}

function openSimulation(scenario: Scenario): Simulation {
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

  const run = async (result: SendResult): Promise<void> => {
    const signal = { aborted: false };
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const waitToLeave = async (leaveAfterMs: number): Promise<void> => {
      await clock.sleep(leaveAfterMs);
      if (result.endedMs !== undefined) return;
      result.leftMs = clock.now() - START_MS;
      signal.aborted = true;
      leave();
    };
    if (result.send.leaveAfterMs !== undefined) void waitToLeave(result.send.leaveAfterMs);
    const response = working.run(result, () => gateway.handle(toGatewayRequest(result.request, signal)));
    if (response === null) throw new Error("The gateway does not serve the path.");
    // The hash of an idempotency key and the parser of forms take real time.
    const reachedStore = new Promise<void>((resolve) => {
      onAdmit = resolve;
    });
    clock.standStillFor(Promise.race([reachedStore, response]));
    await readResponse(result, await response, left);
    result.endedMs = clock.now() - START_MS;
  };

  return {
    clock,
    gateway,
    ledger,
    delivered,
    plan(request, send) {
      const beganMs = Math.max(send.atMs, clock.now() - START_MS);
      const result: SendResult = { request, send, beganMs, attempts: [] };
      void clock.sleep(beganMs - (clock.now() - START_MS)).then(() => run(result));
      return result;
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

/** Reads the response like a host: completely, or until the client disconnects. */
async function readResponse(
  result: SendResult,
  response: GatewayResponse,
  left: Promise<void>,
): Promise<void> {
  const { status, headers, body } = response;
  result.id = headers["x-request-id"] ?? "";
  result.status = status;
  result.isReplay = headers["idempotent-replayed"] === "true";
  const text = isWhole(body) ? toText(body) : await readChunks(result, body, left);
  if (result.leftMs !== undefined || text === undefined) return;
  result.seen = isEvents(response) ? seeEvents(text) : seeJson(text);
}

function isWhole(body: GatewayResponse["body"]): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === "string" || body instanceof Uint8Array;
}

function toText(body: string | Uint8Array): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}

async function readChunks(
  result: SendResult,
  body: AsyncIterable<Uint8Array>,
  left: Promise<void>,
): Promise<string | undefined> {
  const chunks = body[Symbol.asyncIterator]();
  void left.then(() => chunks.return?.().catch(() => undefined));
  if (result.leftMs !== undefined) return undefined;
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of { [Symbol.asyncIterator]: () => chunks }) {
      text += decoder.decode(chunk, { stream: true });
    }
    return text;
  } catch {
    result.isBroken = true;
    return undefined;
  }
}

function isEvents({ headers }: GatewayResponse): boolean {
  return headers["content-type"]?.startsWith("text/event-stream") === true;
}

function seeEvents(text: string): NonNullable<SendResult["seen"]> {
  const images = [...text.matchAll(/^event: image_generation\.partial_succeeded\ndata: .*\n\n/gm)].length;
  const error = /^event: error\ndata: (.*)\n\n/m.exec(text)?.[1];
  return { images, code: error === undefined ? undefined : codeOf(error) };
}

function seeJson(text: string): NonNullable<SendResult["seen"]> {
  const body: { readonly data?: readonly object[] } = JSON.parse(text);
  const images = body.data?.filter((item) => "url" in item || "b64_json" in item) ?? [];
  return { images: images.length, code: body.data === undefined ? codeOf(text) : undefined };
}

function codeOf(text: string): string {
  const body: { readonly error?: { readonly code?: unknown } } = JSON.parse(text);
  return String(body.error?.code);
}

/** As many concurrent requests as the caller may send. All of them find a slot, unless one was lost. */
function planProbes(simulation: Simulation, { id, concurrent = 0 }: ScenarioCaller): SendResult[] {
  return Array.from({ length: concurrent }, (_, index) =>
    simulation.plan(
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
  const timeout = new AbortController();
  const timedOut = new Promise<false>((resolve) => {
    const timer = setTimeout(() => resolve(false), CLOSE_MS);
    timeout.signal.addEventListener("abort", () => clearTimeout(timer));
  });
  const isClosed = await Promise.race([gateway.close().then(() => true), timedOut]);
  timeout.abort();
  return isClosed;
}

async function readAll(ledger: CheckedLedger): Promise<UsageRecord[]> {
  const records: UsageRecord[] = [];
  for await (const record of ledger.records({})) records.push(record);
  return records;
}
