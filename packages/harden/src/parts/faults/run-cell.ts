import { setTimeout as sleep } from "node:timers/promises";
import { createGateway, type Gateway, type GatewayOptions, type UsageRecord } from "@calotype/core";
import type { Problem } from "../money/check-run.ts";
import { CALLER, callOf, KEY, MODEL, probeCall } from "./calls.ts";
import { type Cell, isClientFault } from "./cells.ts";
import { type SeenResponse, sendCall } from "./client.ts";
import { expectationOf } from "./expectation.ts";
import { type MountedGateway, mountGateway } from "./hosts.ts";
import { behaviourOf, type FaultyProvider, startProvider } from "./provider.ts";
import { type CellStores, openStores, type Services } from "./stores.ts";

/** The result of a cell. */
export interface CellResult {
  readonly problems: readonly Problem[];
  /** Why it was not run. */
  readonly leftOut?: string;
  readonly http2Calls?: number;
}

/** Longer than a gateway may take in any cell, also on a busy machine. */
const BOUND_MS = 30_000;
/** The time limit for a provider that stalls, where it stalls. */
const SILENCE_MS = 2_000;
/** The limit for everything else: a busy machine must not exceed it. */
const NO_LIMIT_MS = 10 * BOUND_MS;
/** The time limit for a client that does not read. */
const IDLE_SECONDS = 1;
const HEARTBEAT_SECONDS = 0.05;
/** How late the provider is in cells whose streams begin early. */
const LATE_MS = 250;
const PRICE_PER_IMAGE = 0.25;
/** A port that nothing listens on. */
const CLOSED_PORT = "http://127.0.0.1:9";

/**
 * Runs one cell of the matrix.
 *
 * @param changes options of the gateway, for tests of the rules
 */
export async function runCell(
  cell: Cell,
  services: Services,
  changes: Partial<GatewayOptions> = {},
): Promise<CellResult> {
  const stores = await openStores(cell.fault, services);
  if (stores === undefined) return { problems: [], leftOut: "a server is missing" };
  const provider = await startProvider(cell.protocol);
  const records: UsageRecord[] = [];
  const gateway = createGatewayFor(cell, provider, {
    ...stores.options,
    onUsage: (record) => void records.push(record),
    ...changes,
  });
  const mounted = await mountGateway(cell.host, gateway);
  try {
    if (cell.protocol === "HTTP/2") await learnProtocol({ gateway, mounted, records });
    const problems = await runFault(cell, { provider, gateway, mounted, stores, records });
    return { problems, http2Calls: provider.http2Calls() };
  } finally {
    await gateway.close({ deadlineSeconds: 0 });
    await mounted.close();
    await provider.close();
    await stores.close();
  }
}

interface CellParts {
  readonly provider: FaultyProvider;
  readonly gateway: Gateway;
  readonly mounted: MountedGateway;
  readonly stores: CellStores;
  readonly records: UsageRecord[];
}

function createGatewayFor(cell: Cell, provider: FaultyProvider, options: Partial<GatewayOptions>): Gateway {
  const limitFor = (fault: Cell["fault"]): number =>
    (cell.fault === fault ? SILENCE_MS : NO_LIMIT_MS) / 1_000;
  return createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: "channel-canary-77b1e0c4",
        baseUrl: cell.fault === "refuses the connection" ? CLOSED_PORT : provider.baseUrl,
        timeouts: {
          connectSeconds: BOUND_MS / 1000,
          firstByteSeconds: limitFor("stalls before the head"),
          idleSeconds: limitFor("stalls in the body"),
        },
      },
    ],
    callers: [{ id: CALLER, key: KEY }],
    ...(cell.kind === "early stream" && { heartbeatSeconds: HEARTBEAT_SECONDS }),
    ...(cell.kind === "openai stream" && { streamFormat: "openai" as const }),
    ...(cell.fault === "client does not read" && { responseIdleSeconds: IDLE_SECONDS }),
    // The request after the fault needs the only slot and most bytes in flight.
    limits: { concurrent: 1 },
    maxBytesInFlight: MAX_BYTES,
    billing: {
      model_details: { [MODEL]: { pricing_mode: "per-request", model_price: String(PRICE_PER_IMAGE) } },
    },
    logger: { warn: () => undefined, error: () => undefined },
    ...options,
  });
}

/** A client that sends the whole request and reads the whole response. */
const WHOLE_RESPONSE = {
  fault: undefined,
  providerCalled: Promise.resolve(),
  over: new AbortController().signal,
} as const;

/** The limit of bytes in flight. The probe after each cell needs most of them. */
const MAX_BYTES = 12_000_000;

/** The first connection tells the gateway that the provider speaks HTTP/2. */
async function learnProtocol({
  gateway,
  mounted,
  records,
}: Pick<CellParts, "gateway" | "mounted" | "records">) {
  await sendCall(gateway, mounted, { ...probeCall(1), ...WHOLE_RESPONSE });
  records.length = 0;
}

async function runFault(cell: Cell, parts: CellParts): Promise<readonly Problem[]> {
  const { provider, gateway, mounted, stores } = parts;
  const before = await gateway.usage.balance(CALLER);
  await stores.before();
  provider.setFault(behaviourOf(cell), cell.kind === "early stream" ? LATE_MS : 0);
  const called = provider.nextCall();
  void called.then(stores.during);
  const fault = isClientFault(cell.fault) ? cell.fault : undefined;
  const over = new AbortController();
  const sent = sendCall(gateway, mounted, {
    ...callOf(cell.kind),
    fault,
    providerCalled: called,
    over: over.signal,
  });
  const seen = await withinBound(sent);
  if (seen === LATE) return [{ rule: "every request ends", seen: `not within ${BOUND_MS} ms` }];
  await stores.after();
  const quiet = await untilQuiet(cell, parts);
  const problems = [
    ...checkSeenResponse(cell, seen),
    ...(await checkCharge(cell, parts, Number(before.settled))),
    ...quiet,
  ];
  provider.setFault("none");
  problems.push(...(await checkProbe(cell, parts)));
  over.abort();
  const closed = await withinBound(gateway.close());
  if (closed === LATE) problems.push({ rule: "gateway.close() returns", seen: `not within ${BOUND_MS} ms` });
  return problems;
}

const LATE: unique symbol = Symbol("late");

async function withinBound<T>(work: Promise<T>): Promise<T | typeof LATE> {
  const over = new AbortController();
  const toLate = (): typeof LATE => LATE;
  const late = sleep(BOUND_MS, undefined, { signal: over.signal }).then(toLate, toLate);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** Waits until nothing is held and the expected record is there. */
async function untilQuiet(cell: Cell, { gateway, records }: CellParts): Promise<Problem[]> {
  const { hasRecord } = expectationOf(cell);
  const deadline = Date.now() + BOUND_MS;
  for (;;) {
    const { held } = await gateway.usage.balance(CALLER);
    if (held === "0" && records.length >= Number(hasRecord)) return [];
    if (Date.now() > deadline) {
      const seen = `${held} held, ${records.length} records`;
      return [{ rule: "no hold is left, and the record comes", seen }];
    }
    await sleep(10);
  }
}

function checkSeenResponse(cell: Cell, seen: SeenResponse | undefined): Problem[] {
  const expected = expectationOf(cell);
  if (expected.sees === undefined) return [];
  const problems: Problem[] = [];
  if (!expected.sees.includes(seen?.text ?? "")) {
    problems.push({
      rule: "the client gets the documented response",
      seen: `${seen?.text}; expected ${expected.sees.join(" or ")}`,
    });
  }
  if (seen?.images !== expected.images) {
    problems.push({
      rule: "the client gets the images that came",
      seen: `${seen?.images} of ${expected.images}`,
    });
  }
  return problems;
}

async function checkCharge(
  cell: Cell,
  { provider, gateway, records }: CellParts,
  before: number,
): Promise<Problem[]> {
  const { attempts, hasRecord, images } = expectationOf(cell);
  const problems: Problem[] = [];
  if (provider.calls() !== attempts) {
    problems.push({
      rule: "the provider is called as often as allowed",
      seen: `${provider.calls()} of ${attempts} calls`,
    });
  }
  if (records.length !== Number(hasRecord)) {
    problems.push({
      rule: "a request has one record, or none if it reached no provider",
      seen: JSON.stringify(records),
    });
  }
  const charge = images * PRICE_PER_IMAGE;
  const settled = Number((await gateway.usage.balance(CALLER)).settled) - before;
  const recorded = records.reduce((sum, record) => sum + Number(record.charge), 0);
  if (settled !== charge || recorded !== charge) {
    const seen = `${settled} settled, ${recorded} in records, expected ${charge}: ${JSON.stringify(records)}`;
    problems.push({ rule: "the charge is what the provider made and reported", seen });
  }
  return problems;
}

/** Sends the next request of the same caller. It is large enough to find lost bytes. */
async function checkProbe({ fault }: Cell, { gateway, mounted }: CellParts): Promise<Problem[]> {
  const expected = fault === "refuses the connection" ? "502 upstream_unreachable" : "200";
  const deadline = Date.now() + BOUND_MS;
  for (;;) {
    const call = { ...probeCall(MAX_BYTES * 0.6), ...WHOLE_RESPONSE };
    const seen = await withinBound(sendCall(gateway, mounted, call));
    if (seen !== LATE && seen?.text === expected) return [];
    // The slot of a disconnected client may become free a little later.
    if (Date.now() > deadline) {
      return [
        {
          rule: "the slot and the bytes in flight are free for the next request",
          seen: seen === LATE ? "late" : `${seen?.text}`,
        },
      ];
    }
    await sleep(100);
  }
}
