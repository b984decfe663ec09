import { fromUnits } from "@calotype/conformance/ledger-suite/units";
import type { UsageRecord } from "@calotype/core";
import { chargeOf, isNothingMade, maySendAfter } from "./model.ts";
import { isStream } from "./provider.ts";
import { type ScenarioRun, type SendResult, START_MS } from "./run-scenario.ts";
import type { Kind, Scenario } from "./scenario.ts";

/** A broken rule. */
export interface Problem {
  readonly rule: string;
  readonly seen: string;
}

/** Checks all rules of a run. Expected charges come from `model.ts`. */
export async function checkRun(run: ScenarioRun): Promise<Problem[]> {
  const { scenario, results, probes, ledger, isClosed } = run;
  const all = [...results, ...probes];
  const byRequest = Map.groupBy(results, ({ request }) => request);
  return [
    ...ledger.problems,
    ...(isClosed ? [] : [{ rule: "gateway.close() returns", seen: "" }]),
    ...all.flatMap((result) => checkSend(result, run)),
    ...probes.filter(({ seen }) => seen?.code === "rate_limit_exceeded").map(toLostSlot),
    ...[...byRequest.values()].flatMap(checkIdempotencyKey),
    ...(await checkBalances(run, all)),
    ...checkDelivery(run),
    ...findUnknownRecords(run, all),
    ...scenario.callers.flatMap(({ id, concurrent }) => checkConcurrency(id, concurrent, all)),
  ];
}

function toLostSlot({ request }: SendResult): Problem {
  return { rule: "no slot is lost", seen: request.caller };
}

/** The rules of one send. */
function checkSend(result: SendResult, { scenario, records }: ScenarioRun): Problem[] {
  const { request, attempts, id, endedMs } = result;
  const where = `${request.name}, sent at ${result.beganMs} ms: `;
  if (endedMs === undefined) return [{ rule: "every request ends", seen: where }];
  const own = records.filter((record) => record.id === id);
  const problems = [
    ...checkAttempts(result, scenario),
    ...checkRecord(result, own, scenario),
    ...checkSeenResponse(result, scenario),
    ...(result.isReplay && attempts.length > 0 ? [{ rule: "a replay is not sent", seen: "" }] : []),
  ];
  return problems.map(({ rule, seen }) => ({ rule, seen: where + seen }));
}

/** Whether each attempt was allowed. */
function checkAttempts(
  { request, attempts, leftMs, beganMs }: SendResult,
  { channels }: Scenario,
): Problem[] {
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
      problems.push({ rule: "nothing is sent again if an image may have been made", seen });
    }
    const route = `${attempt.channel} ${attempt.key}`;
    if (tried.has(route)) problems.push({ rule: "no key is tried twice for a request", seen: route });
    tried.add(route);
  }
  return problems;
}

/** The record of a send, and its charge. */
function checkRecord(result: SendResult, records: readonly UsageRecord[], scenario: Scenario): Problem[] {
  const { request, attempts } = result;
  const isReached = attempts.some(({ behaviour }) => behaviour.does !== "unreachable");
  if (records.length !== Number(isReached)) {
    const seen = `${records.length} records, ${attempts.length} attempts`;
    return [{ rule: "a request that reached a provider has one record, another none", seen }];
  }
  const [record] = records;
  if (record === undefined) return [];
  const charge = fromUnits(chargeOf(result, scenario));
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

/** The response, if the client did not disconnect. */
function checkSeenResponse(result: SendResult, scenario: Scenario): Problem[] {
  const { request, attempts, leftMs, isReplay, isBroken, status = 0, seen } = result;
  if (leftMs !== undefined) return [];
  const got = `${status} ${seen?.code}, ${seen?.images} images`;
  if (!STATUSES.has(status)) return [{ rule: "every response is a documented one", seen: got }];
  const last = attempts.at(-1)?.behaviour;
  if (last === undefined) return isReplay ? [] : checkRefusal(result, scenario);
  const images =
    last.does === "makes" ? last.images : last.does === "stops" ? streamed(request.kind, last.sent) : 0;
  const problems: Problem[] = [];
  if (last.does === "makes" && status !== 200)
    problems.push({ rule: "images come with status 200", seen: got });
  if (last.does === "stops" && isBroken !== true && seen?.code === undefined) {
    problems.push({ rule: "a response that broke off does not look complete", seen: got });
  }
  if (seen !== undefined && seen.images !== images) {
    problems.push({ rule: "the client gets the images of the provider", seen: `${got}, expected ${images}` });
  }
  return problems;
}

function streamed(kind: Kind, sent: number): number {
  return isStream(kind) ? sent : 0;
}

/** Without an attempt, the gateway itself had a reason to refuse. */
function checkRefusal({ request, seen }: SendResult, { callers }: Scenario): Problem[] {
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
function checkIdempotencyKey(sends: readonly SendResult[]): Problem[] {
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

function startOf({ attempts: [first] }: SendResult): number {
  return (first?.beganMs ?? Infinity) - START_MS;
}

/** Whether the client of a send still waits. A client that disconnected may have released its idempotency key. */
function isDuring(time: number, result: SendResult): boolean {
  return startOf(result) <= time && time < (result.leftMs ?? result.endedMs ?? Infinity);
}

async function checkBalances(
  { scenario, ledger }: ScenarioRun,
  all: readonly SendResult[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { id } of scenario.callers) {
    const own = all.filter(({ request }) => request.caller === id);
    const charged = fromUnits(own.reduce((sum, result) => sum + chargeOf(result, scenario), 0n));
    const { held, settled } = await ledger.balance(id);
    const seen = `${id}: ${settled} settled, ${held} held, expected ${charged}`;
    if (held !== "0") problems.push({ rule: "no hold is left", seen });
    if (settled !== charged)
      problems.push({ rule: "the balance of a caller is what the model computes", seen });
  }
  return problems;
}

function checkDelivery({ records, delivered }: ScenarioRun): Problem[] {
  const ids = new Set(delivered.map(({ id }) => id));
  const rule = "onUsage gets every record";
  return records.filter(({ id }) => !ids.has(id)).map(({ id }) => ({ rule, seen: id }));
}

function findUnknownRecords({ records }: ScenarioRun, all: readonly SendResult[]): Problem[] {
  const ids = new Set(all.map(({ id }) => id));
  const rule = "every record has a request";
  return records.filter(({ id }) => !ids.has(id)).map(({ id }) => ({ rule, seen: id }));
}

/** Concurrent requests of a caller at providers. */
function checkConcurrency(caller: string, limit: number | undefined, all: readonly SendResult[]): Problem[] {
  if (limit === undefined) return [];
  const own = all.filter(({ request, attempts }) => request.caller === caller && attempts.length > 0);
  const counts = own.map((one) => own.filter((other) => isDuring(startOf(one), other)).length);
  const most = Math.max(0, ...counts);
  if (most <= limit) return [];
  return [
    { rule: "a caller has no more requests at once than its limit", seen: `${caller}: ${most} of ${limit}` },
  ];
}
