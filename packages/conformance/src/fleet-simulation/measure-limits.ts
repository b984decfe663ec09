import { PRICE } from "./create-member.ts";
import type { SimulatedCall } from "./create-providers.ts";
import { BUDGET, type LimitsRun, TRAFFIC_MS } from "./limits-scenario.ts";

const MINUTE = 60_000;
/** All amounts are whole cents. */
const toCents = (amount: string | null): number => Math.round(Number(amount ?? 0) * 100);

/**
 * The requests of a caller that were admitted under a limit, in each window that ended while the caller was
 * sending.
 */
export function countWindows({ fleet }: LimitsRun, name: "requests" | "images"): number[] {
  const sendingEndsAt = fleet.clock.now() - fleet.elapsedMs() + TRAFFIC_MS;
  const counts: number[] = [];
  let endsAt = 0;
  for (const { at, kind, request } of fleet.decisions) {
    const window = request.windows.find((limit) => limit.name === name);
    if (kind !== "admitted" || window === undefined) continue;
    if (at >= endsAt) {
      endsAt = at + MINUTE;
      if (endsAt > sendingEndsAt) break;
      counts.push(0);
    }
    counts[counts.length - 1] = (counts.at(-1) ?? 0) + window.cost;
  }
  return counts;
}

const isFor = (caller: string): ((call: SimulatedCall) => boolean) => {
  return ({ prompt }) => prompt.startsWith(`${caller}-`);
};

/** The maximum number of parallel calls of a caller at the providers. */
export function countAtOnce({ fleet }: LimitsRun, caller: string): number {
  const changes = fleet.calls.filter(isFor(caller)).flatMap(({ beganMs, endedMs }) => [
    { ms: beganMs, by: 1 },
    { ms: endedMs, by: -1 },
  ]);
  let open = 0;
  let most = 0;
  for (const { by } of changes.toSorted((one, other) => one.ms - other.ms || one.by - other.by)) {
    open += by;
    most = Math.max(most, open);
  }
  return most;
}

/** The results of idempotency keys that were each sent four times. */
export function measureKeys({ fleet }: LimitsRun): { keys: number; mostRuns: number; mostBodies: number } {
  const runs = new Map<string, number>();
  const bodies = new Map<string, Set<string>>();
  for (const { prompt, images } of fleet.calls.filter(isFor("repeating"))) {
    if (images > 0) runs.set(prompt, (runs.get(prompt) ?? 0) + 1);
  }
  for (const { request, status, body } of fleet.responses) {
    if (request.idempotencyKey === undefined || status !== 200) continue;
    bodies.set(request.prompt, (bodies.get(request.prompt) ?? new Set()).add(body));
  }
  const mostBodies = Math.max(...Array.from(bodies.values(), ({ size }) => size));
  return { keys: runs.size, mostRuns: Math.max(...runs.values()), mostBodies };
}

/** The largest sum of settled and held amounts, in cents. */
export function measureBudget({ fleet }: LimitsRun, caller: string): { budget: number; highest: number } {
  const sums = fleet.balances
    .filter((change) => change.caller === caller)
    .map(({ settled, held }) => toCents(settled) + toCents(held));
  return { budget: toCents(BUDGET), highest: Math.max(...sums) };
}

/** The ledger after the last sweep. */
export interface LedgerTotals {
  /** Images that the providers made. */
  readonly made: number;
  /** Images that were made for clients whose gateway died. */
  readonly madeForLost: number;
  /** Images that clients got. */
  readonly delivered: number;
  /** Cents. */
  readonly charged: number;
  readonly chargedImages: number;
  readonly priceOfImages: number;
  readonly settledBalances: number;
  readonly held: number;
  readonly unresolved: number;
}

export async function measureLedger({ fleet, records }: LimitsRun): Promise<LedgerTotals> {
  const answered = (...statuses: number[]): Set<string> =>
    new Set(
      fleet.responses.filter(({ status }) => statuses.includes(status)).map(({ request }) => request.prompt),
    );
  const succeeded = answered(200);
  const lost = new Set([...answered(0)].filter((prompt) => !succeeded.has(prompt)));
  const callers = new Set(fleet.responses.map(({ request }) => request.caller));
  const balances = await Promise.all(Array.from(callers, (caller) => fleet.ledger.balance(caller)));
  const chargedImages = sum(records, (record) =>
    record.state === "settled" ? (record.usage?.generated_images ?? 0) : 0,
  );
  return {
    made: sum(fleet.calls, ({ images }) => images),
    madeForLost: sum(
      fleet.calls.filter(({ prompt }) => lost.has(prompt)),
      ({ images }) => images,
    ),
    delivered: sum(
      fleet.responses.filter(({ status, isReplay }) => status === 200 && !isReplay),
      ({ body }) => readImages(body),
    ),
    charged: sum(records, ({ charge }) => toCents(charge)),
    chargedImages,
    priceOfImages: chargedImages * toCents(PRICE),
    settledBalances: sum(balances, ({ settled }) => toCents(settled)),
    held: sum(balances, ({ held }) => toCents(held)),
    unresolved: records.filter(({ state }) => state === "unresolved").length,
  };
}

function sum<T>(items: readonly T[], read: (item: T) => number): number {
  return items.reduce((total, item) => total + read(item), 0);
}

function readImages(body: string): number {
  const { data }: { readonly data: readonly unknown[] } = JSON.parse(body);
  return data.length;
}
