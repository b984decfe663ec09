import { fromUnits } from "@calotype/conformance/ledger-suite/units";
import type { UsageRecord } from "@calotype/core";
import { chargeOf, isNothingMade, maySendAfter } from "./model.ts";
import { type Played, type Sighting, START_MS } from "./play.ts";
import { isStream } from "./provider.ts";
import type { Kind, Scenario } from "./scenario.ts";

/** A rule that does not hold, and where. */
export interface Problem {
  readonly rule: string;
  readonly seen: string;
}

/** Compares a run with the rules of money. Expected charges come from `model.ts`. */
export async function judge(played: Played): Promise<Problem[]> {
  const { scenario, sightings, probes, ledger, isClosed } = played;
  const all = [...sightings, ...probes];
  const byRequest = Map.groupBy(sightings, ({ request }) => request);
  return [
    ...ledger.problems,
    ...(isClosed ? [] : [{ rule: "gateway.close() returns", seen: "" }]),
    ...all.flatMap((sighting) => judgeSend(sighting, played)),
    ...probes.filter(({ seen }) => seen?.code === "rate_limit_exceeded").map(toLostPlace),
    ...[...byRequest.values()].flatMap(judgeKey),
    ...(await judgeBalances(played, all)),
    ...judgeDelivery(played),
    ...findStrangers(played, all),
    ...scenario.callers.flatMap(({ id, concurrent }) => judgeConcurrency(id, concurrent, all)),
  ];
}

function toLostPlace({ request }: Sighting): Problem {
  return { rule: "no place for a concurrent request is lost", seen: request.caller };
}

/** One send, by itself. */
function judgeSend(sighting: Sighting, { scenario, records }: Played): Problem[] {
  const { request, attempts, id, endedMs } = sighting;
  const where = `${request.name}, sent at ${sighting.beganMs} ms: `;
  if (endedMs === undefined) return [{ rule: "every request ends", seen: where }];
  const own = records.filter((record) => record.id === id);
  const problems = [
    ...judgeAttempts(sighting, scenario),
    ...judgeRecord(sighting, own, scenario),
    ...judgeSeen(sighting, scenario),
    ...(sighting.isReplay && attempts.length > 0 ? [{ rule: "a replay is not sent", seen: "" }] : []),
  ];
  return problems.map(({ rule, seen }) => ({ rule, seen: where + seen }));
}

/** Whether each attempt was allowed. */
function judgeAttempts({ request, attempts, leftMs, beganMs }: Sighting, { channels }: Scenario): Problem[] {
  const problems: Problem[] = [];
  const tried = new Set<string>();
  for (const [index, attempt] of attempts.entries()) {
    const before = attempts[index - 1];
    const began = attempt.beganMs - START_MS;
    if (leftMs !== undefined && began > leftMs && began > beganMs) {
      const seen = `left at ${leftMs} ms, attempt ${index + 1} at ${began} ms (${attempt.channel})`;
      problems.push({ rule: "no attempt begins after the client has left", seen });
    }
    if (before !== undefined && !maySendAfter(before, request.kind, channels)) {
      const seen = `${before.channel}: ${JSON.stringify(before.behaviour)}`;
      problems.push({ rule: "nothing is sent again where an image may have been made", seen });
    }
    const route = `${attempt.channel} ${attempt.key}`;
    if (tried.has(route)) problems.push({ rule: "no key is tried twice for a request", seen: route });
    tried.add(route);
  }
  return problems;
}

/** The record of a send, and its charge. */
function judgeRecord(sighting: Sighting, records: readonly UsageRecord[], scenario: Scenario): Problem[] {
  const { request, attempts } = sighting;
  const isReached = attempts.some(({ behaviour }) => behaviour.does !== "unreachable");
  if (records.length !== Number(isReached)) {
    const seen = `${records.length} records, ${attempts.length} attempts`;
    return [{ rule: "a request that reached a provider has one record, another none", seen }];
  }
  const [record] = records;
  if (record === undefined) return [];
  const charge = fromUnits(chargeOf(sighting, scenario));
  const seen = `charged ${record.charge}, expected ${charge}; ${JSON.stringify(record)}`;
  return [
    ...(record.charge === charge
      ? []
      : [{ rule: "the charge is what the provider made and reported", seen }]),
    ...(record.state === "settled" ? [] : [{ rule: "no record is unresolved", seen }]),
    ...(record.caller === request.caller ? [] : [{ rule: "the caller who sent it is charged", seen }]),
  ];
}

/** Statuses of the documentation that these scenarios can have. */
const STATUSES = new Set([200, 400, 401, 403, 404, 409, 429, 499, 502, 503, 504]);

/** What the client got, if it stayed. */
function judgeSeen(sighting: Sighting, scenario: Scenario): Problem[] {
  const { request, attempts, leftMs, isReplay, isBroken, status = 0, seen } = sighting;
  if (leftMs !== undefined) return [];
  const got = `${status} ${seen?.code}, ${seen?.images} images`;
  if (!STATUSES.has(status)) return [{ rule: "every response is a documented one", seen: got }];
  const last = attempts.at(-1)?.behaviour;
  if (last === undefined) return isReplay ? [] : judgeRefusal(sighting, scenario);
  const images =
    last.does === "makes" ? last.images : last.does === "stops" ? streamed(request.kind, last.sent) : 0;
  const problems: Problem[] = [];
  if (last.does === "makes" && status !== 200) problems.push({ rule: "a success is a 200", seen: got });
  if (last.does === "stops" && isBroken !== true && seen?.code === undefined) {
    problems.push({ rule: "a response that broke off does not look finished", seen: got });
  }
  if (seen !== undefined && seen.images !== images) {
    problems.push({ rule: "the client gets the images that came", seen: `${got}, expected ${images}` });
  }
  return problems;
}

function streamed(kind: Kind, sent: number): number {
  return isStream(kind) ? sent : 0;
}

/** Without an attempt there is a reason of the gateway's own. */
function judgeRefusal({ request, seen }: Sighting, { callers }: Scenario): Problem[] {
  const caller = callers.find(({ id }) => id === request.caller);
  const isRepeated = request.hasKey && request.sends.length > 1;
  const reasons: Readonly<Record<string, boolean>> = {
    insufficient_quota: caller?.budget !== undefined,
    rate_limit_exceeded: caller?.concurrent !== undefined,
    idempotency_in_progress: isRepeated,
    idempotency_not_replayable: isRepeated,
  };
  const code = seen?.code ?? "";
  return reasons[code] === true ? [] : [{ rule: "a request is refused for a reason", seen: code }];
}

/** All sends with one idempotency key. */
function judgeKey(sends: readonly Sighting[]): Problem[] {
  const [first] = sends;
  if (first?.request.hasKey !== true) return [];
  const seen = first.request.name;
  const run = sends.filter(({ attempts }) => attempts.length > 0);
  const made = run.filter(({ attempts }) => attempts.some(({ behaviour }) => !isNothingMade(behaviour)));
  const isDoubled = run.some((one) =>
    run.some((other) => startOf(other) > startOf(one) && isDuring(startOf(other), one)),
  );
  return [
    ...(made.length > 1 ? [{ rule: "an idempotency key makes images once", seen }] : []),
    ...(isDoubled ? [{ rule: "an idempotency key does not run twice at once", seen }] : []),
  ];
}

function startOf({ attempts: [first] }: Sighting): number {
  return (first?.beganMs ?? Infinity) - START_MS;
}

/** Whether the client of a send still waits. One that left may have let go of its key. */
function isDuring(time: number, sighting: Sighting): boolean {
  return startOf(sighting) <= time && time < (sighting.leftMs ?? sighting.endedMs ?? Infinity);
}

async function judgeBalances({ scenario, ledger }: Played, all: readonly Sighting[]): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { id } of scenario.callers) {
    const own = all.filter(({ request }) => request.caller === id);
    const charged = fromUnits(own.reduce((sum, sighting) => sum + chargeOf(sighting, scenario), 0n));
    const { held, settled } = await ledger.balance(id);
    const seen = `${id}: ${settled} settled, ${held} held, expected ${charged}`;
    if (held !== "0") problems.push({ rule: "no hold is left", seen });
    if (settled !== charged)
      problems.push({ rule: "the balance of a caller is what the model computes", seen });
  }
  return problems;
}

function judgeDelivery({ records, delivered }: Played): Problem[] {
  const ids = new Set(delivered.map(({ id }) => id));
  const rule = "onUsage gets every record";
  return records.filter(({ id }) => !ids.has(id)).map(({ id }) => ({ rule, seen: id }));
}

function findStrangers({ records }: Played, all: readonly Sighting[]): Problem[] {
  const ids = new Set(all.map(({ id }) => id));
  const rule = "every record has a request";
  return records.filter(({ id }) => !ids.has(id)).map(({ id }) => ({ rule, seen: id }));
}

/** Requests of a caller that were sent to providers at once. */
function judgeConcurrency(caller: string, limit: number | undefined, all: readonly Sighting[]): Problem[] {
  if (limit === undefined) return [];
  const own = all.filter(({ request, attempts }) => request.caller === caller && attempts.length > 0);
  const counts = own.map((one) => own.filter((other) => isDuring(startOf(one), other)).length);
  const most = Math.max(0, ...counts);
  if (most <= limit) return [];
  return [
    { rule: "a caller has no more requests at once than its limit", seen: `${caller}: ${most} of ${limit}` },
  ];
}
