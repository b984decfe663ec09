import {
  array,
  assert,
  asyncProperty,
  constantFrom,
  integer,
  type Parameters,
  pre,
  record,
} from "fast-check";
import { describe, expect, it } from "vitest";
import { healthIdsOf } from "../channels/channel.js";
import { DEFAULT_HEALTH_POLICY, isRefusal } from "../channels/health-record.js";
import { DEFAULT_RETRY_BUDGET } from "../channels/retry-budget.js";
import { casesOf, createRandom } from "../testing/random.js";
import { type Behaviour, type SimulatedCall, simulateChannels } from "../testing/simulate-channels.js";

const POLICY = DEFAULT_HEALTH_POLICY;
const RUNS: Parameters<unknown> = { numRuns: casesOf(100) };

/** After these nothing can have been made. */
const SAFE = ["unreachable", "credential", "quota", "model", "rate", "overload"] as const;
/** After these an image may have been made, or another account will not help. */
const FINAL = ["server", "timeout", "broken", "content"] as const;
const KINDS = [...SAFE, ...FINAL] as const;

const seeds = integer({ min: 0, max: 2 ** 31 });

/** The most calls that began within one window of this length. */
function mostWithin(calls: readonly SimulatedCall[], windowMs: number): number {
  const beginnings = calls.map(({ beganAt }) => beganAt);
  const counts = beginnings.map(
    (from) => beginnings.filter((at) => at >= from && at < from + windowMs).length,
  );
  return Math.max(0, ...counts);
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** As the budget counts: a window begins with the first request after the last one ended. */
function countByWindow(
  requests: readonly { readonly beganAt: number }[],
  calls: readonly SimulatedCall[],
): { count: number; calls: number }[] {
  const starts: number[] = [];
  for (const { beganAt } of requests) {
    const last = starts.at(-1);
    if (last === undefined || beganAt - last >= DEFAULT_RETRY_BUDGET.windowMs) starts.push(beganAt);
  }
  return starts.map((from, index) => {
    const to = starts[index + 1] ?? Number.POSITIVE_INFINITY;
    const isIn = ({ beganAt }: { readonly beganAt: number }): boolean => beganAt >= from && beganAt < to;
    return { count: requests.filter(isIn).length, calls: calls.filter(isIn).length };
  });
}

/** The violated rules of the calls of one request, as strings for the report. */
function findWrongRepeats(calls: readonly SimulatedCall[]): string[] {
  return calls.flatMap(({ channel, key, wasEarly }, index) =>
    calls.slice(0, index).flatMap((before) => {
      const isOfChannel = before.behaviour === "unreachable" || before.behaviour === "overload";
      const isSafe = typeof before.behaviour === "object" || SAFE.some((safe) => safe === before.behaviour);
      const isSameChannel = before.channel === channel;
      return [
        ...(isSafe ? [] : [`sent again after ${before.behaviour}`]),
        ...(isSameChannel && before.key === key ? [`${key} twice`] : []),
        ...(isSameChannel && isOfChannel ? [`another key of a channel that was ${before.behaviour}`] : []),
        ...(isSameChannel && wasEarly ? ["another key that cooled"] : []),
      ];
    }),
  );
}

describe("a dead channel among good ones", () => {
  /**
   * To be noticed it takes three failures in one of the windows that failures are counted in, and there
   * may have been two in the window before; then there are probes after 5, 15 and 35 seconds.
   */
  const MOST_IN_A_MINUTE = 2 + 3 + 3;

  const outages = record({
    kind: constantFrom(...KINDS.filter((kind) => kind !== "content")),
    good: integer({ min: 1, max: 4 }),
    gapMs: integer({ min: 20, max: 3_000 }),
    seed: seeds,
  });

  it("costs at most eight calls a minute, and fails no request that may be sent again", async () => {
    await assert(
      asyncProperty(outages, async ({ kind, good, gapMs, seed }) => {
        const simulation = simulateChannels({
          channels: times(good + 1, () => ({})),
          behave: (channel) => (channel === "channel-0" ? kind : "ok"),
          random: createRandom(seed),
        });
        const requests = await simulation.sendAll(times(200, () => gapMs));
        const dead = simulation.calls.filter(({ channel }) => channel === "channel-0");
        expect(mostWithin(dead, POLICY.windowMs)).toBeLessThanOrEqual(MOST_IN_A_MINUTE);
        const failed = requests.filter(({ outcome }) => !outcome.ok).length;
        const isSafe = SAFE.some((safe) => safe === kind);
        expect(failed).toBe(isSafe ? simulation.refusedRetries() : dead.length);
        // Three to notice and one probe in the same ten seconds are one more than the least budget.
        expect(simulation.refusedRetries()).toBeLessThanOrEqual(2);
      }),
      RUNS,
    );
  });

  it("fails no request if there is enough traffic for the retry budget", async () => {
    await assert(
      asyncProperty(constantFrom(...SAFE), seeds, async (kind, seed) => {
        const simulation = simulateChannels({
          channels: [{}, {}, {}],
          behave: (channel) => (channel === "channel-0" ? kind : "ok"),
          random: createRandom(seed),
        });
        const requests = await simulation.sendAll(times(600, () => 200));
        const lost = requests.filter(({ outcome }) => !outcome.ok).length;
        expect(lost).toBeLessThanOrEqual(simulation.refusedRetries());
        expect(lost).toBe(0);
      }),
      { numRuns: casesOf(40) },
    );
  });

  it("is tried by one request at a time once it cools, and used again within its last cooldown", async () => {
    const plans = record({
      kind: constantFrom(...KINDS.filter((kind) => kind !== "content" && kind !== "rate")),
      downMs: integer({ min: 1_000, max: 900_000 }),
      latencyMs: integer({ min: 1, max: 4_000 }),
      gapMs: integer({ min: 100, max: 1_000 }),
    });
    await assert(
      asyncProperty(plans, async ({ kind, downMs, latencyMs, gapMs }) => {
        const simulation = simulateChannels({
          channels: [{ priority: 1 }, {}],
          behave: (channel, _key, ms) => (channel === "channel-0" && ms < downMs ? kind : "ok"),
          latencyMs,
        });
        const probes = (): readonly SimulatedCall[] =>
          simulation.calls.filter(({ channel, wasCooling }) => channel === "channel-0" && wasCooling);
        const isFound = (): boolean => probes().some(({ behaviour }) => behaviour === "ok");
        // Idle time is skipped: from one probe to the next.
        while (!isFound() && simulation.elapsed() < downMs + 2 * POLICY.maxCooldownMs) {
          await simulation.sendAll(times(12, () => gapMs));
          const next =
            simulation.health.readyAt(simulation.channels[0]?.healthId ?? "") - simulation.time.now();
          const isAhead = Number.isFinite(next) && next > 5 * gapMs;
          if (isAhead) await simulation.time.run(simulation.time.sleep(next - gapMs));
        }
        const ordered = probes();
        pre(ordered.length > 0);
        const isOverlapping = ordered.some(
          (probe, index) => probe.beganAt < (ordered[index - 1]?.endedAt ?? 0),
        );
        expect(isOverlapping).toBe(false);
        const found = ordered.find(({ behaviour }) => behaviour === "ok");
        const lastCooldown = Math.min(POLICY.maxCooldownMs, POLICY.cooldownMs + 2 * downMs);
        expect(found?.beganAt).toBeLessThanOrEqual(downMs + lastCooldown + 2 * latencyMs + 12 * gapMs);
        await simulation.sendAll(times(20, () => 0));
        expect(simulation.calls.slice(-20).filter(({ wasCooling }) => wasCooling)).toEqual([]);
      }),
      RUNS,
    );
  });
});

describe("when everything is down", () => {
  const outages = record({
    channels: array(
      record({
        keys: integer({ min: 1, max: 3 }),
        kind: constantFrom(...SAFE),
        priority: integer({ min: 0, max: 2 }),
      }),
      { minLength: 1, maxLength: 12 },
    ),
    gaps: array(integer({ min: 0, max: 2_000 }), { minLength: 1, maxLength: 120 }),
    seed: seeds,
  });

  it("every request gets a response after at least one call, and calls stay within the retry budget", async () => {
    await assert(
      asyncProperty(outages, async ({ channels, gaps, seed }) => {
        const simulation = simulateChannels({
          channels: channels.map(({ keys, priority }, index) => ({
            apiKey: times(keys, (key) => `key-${index}-${key}`),
            priority,
          })),
          behave: (channel) => channels[Number(channel.slice("channel-".length))]?.kind ?? "ok",
          random: createRandom(seed),
        });
        const requests = await simulation.sendAll(gaps);
        expect(requests.every(({ outcome }) => !outcome.ok)).toBe(true);
        expect(new Set(simulation.calls.map(({ request }) => request)).size).toBe(gaps.length);
        // Not counted: the retry after a probe, and after the refusal that begins the cooldown of a key.
        const probes = simulation.calls.filter(({ wasCooling, wasEarly }) => wasCooling && !wasEarly).length;
        const refused = channels.reduce((sum, { kind, keys }) => sum + (isRefusal(kind) ? keys : 0), 0);
        for (const { count, calls } of countByWindow(requests, simulation.calls)) {
          expect(calls).toBeLessThanOrEqual(
            count * (1 + DEFAULT_RETRY_BUDGET.ratio) + DEFAULT_RETRY_BUDGET.minimum + probes + refused,
          );
        }
      }),
      RUNS,
    );
  });

  it("works again with the first request after the outage, whatever cools", async () => {
    await assert(
      asyncProperty(
        constantFrom(...KINDS),
        integer({ min: 1, max: 60 }),
        seeds,
        async (kind, count, seed) => {
          let isDown = true;
          const simulation = simulateChannels({
            channels: [{}, { apiKey: ["a", "b"] }],
            behave: () => (isDown ? kind : "ok"),
            random: createRandom(seed),
          });
          await simulation.sendAll(times(count, () => 500));
          isDown = false;
          expect((await simulation.send()).outcome.ok).toBe(true);
        },
      ),
      RUNS,
    );
  });
});

describe("whatever channels and keys do", () => {
  const worlds = record({
    channels: array(
      record({
        keys: integer({ min: 1, max: 3 }),
        priority: integer({ min: 0, max: 1 }),
        behaviours: array(constantFrom<Behaviour[]>("ok", "ok", ...KINDS, { retryAfterSeconds: 3 }), {
          minLength: 1,
          maxLength: 9,
        }),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    gaps: array(integer({ min: 0, max: 8_000 }), { minLength: 1, maxLength: 60 }),
    latencyMs: integer({ min: 0, max: 2_000 }),
    seed: seeds,
  });

  it("a request is sent again only if nothing can have been made, and to no key or dead channel twice", async () => {
    await assert(
      asyncProperty(worlds, async ({ channels, gaps, latencyMs, seed }) => {
        const random = createRandom(seed);
        const simulation = simulateChannels({
          channels: channels.map(({ keys, priority }, index) => ({
            apiKey: times(keys, (key) => `key-${index}-${key}`),
            priority,
          })),
          behave: (channel) => {
            const { behaviours = [] } = channels[Number(channel.slice("channel-".length))] ?? {};
            return behaviours[Math.floor(random() * behaviours.length)] ?? "ok";
          },
          random,
          latencyMs,
        });
        await simulation.sendAll(gaps);
        const byRequest = Map.groupBy(simulation.calls, ({ request }) => request);
        expect([...byRequest.values()].flatMap(findWrongRepeats)).toEqual([]);
        // Nothing stays out for good, whatever became of its probe.
        await simulation.time.run(simulation.time.sleep(POLICY.maxCooldownMs));
        for (const id of healthIdsOf(simulation.channels)) {
          expect(simulation.health.readyAt(id)).toBeLessThanOrEqual(simulation.time.now());
        }
      }),
      RUNS,
    );
  });

  it("refused contents never cool a channel or a key", async () => {
    await assert(
      asyncProperty(integer({ min: 1, max: 100 }), integer({ min: 0, max: 2_000 }), async (count, gapMs) => {
        const simulation = simulateChannels({
          channels: [{ apiKey: ["a", "b"] }, {}],
          behave: () => "content",
        });
        await simulation.sendAll(times(count, () => gapMs));
        expect(simulation.calls).toHaveLength(count);
        expect(simulation.calls.every(({ wasCooling }) => !wasCooling)).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  it("a 429 is obeyed: the key rests for its retry-after, ten minutes at most", async () => {
    await assert(
      asyncProperty(
        integer({ min: 1, max: 2_000 }),
        integer({ min: 100, max: 9_000 }),
        async (seconds, gapMs) => {
          const simulation = simulateChannels({
            channels: [{ priority: 1 }, {}],
            behave: (channel, _key, ms) =>
              channel === "channel-0" && ms < 1 ? { retryAfterSeconds: seconds } : "ok",
          });
          const restMs = Math.min(seconds * 1000, POLICY.maxCooldownMs);
          await simulation.sendAll([0]);
          await simulation.sendAll(times(Math.ceil(restMs / gapMs) + 1, () => gapMs));
          const [first, second] = simulation.calls.filter(({ channel }) => channel === "channel-0");
          expect(first?.beganAt).toBe(0);
          expect(second?.beganAt).toBeGreaterThanOrEqual(restMs);
          expect(second?.beganAt).toBeLessThan(restMs + gapMs);
        },
      ),
      { numRuns: 20 },
    );
  });

  it("with all of a tier cooling the next one serves", async () => {
    await assert(
      asyncProperty(constantFrom(...SAFE), integer({ min: 1, max: 4 }), seeds, async (kind, top, seed) => {
        const simulation = simulateChannels({
          channels: [...times(top, () => ({ priority: 2 })), { priority: 1 }, { priority: 0 }],
          behave: (channel) => (Number(channel.slice("channel-".length)) < top ? kind : "ok"),
          random: createRandom(seed),
        });
        const requests = await simulation.sendAll(times(400, () => 100));
        const served = requests.flatMap(({ outcome }) => (outcome.ok ? [outcome.channel.id] : []));
        expect(served.length).toBeGreaterThanOrEqual(400 - simulation.refusedRetries());
        expect(new Set(served)).toEqual(new Set([`channel-${top}`]));
      }),
      { numRuns: 20 },
    );
  });

  it("each channel gets its share by weight, and each of its keys the same", async () => {
    const weights = array(integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 5 });
    await assert(
      asyncProperty(weights, seeds, async (list, seed) => {
        const simulation = simulateChannels({
          channels: list.map((weight, index) => ({
            weight,
            apiKey: times(index + 1, (key) => `key-${index}-${key}`),
          })),
          behave: () => "ok",
          random: createRandom(seed),
        });
        const count = 2_000;
        await simulation.sendAll(times(count, () => 0));
        const total = list.reduce((sum, weight) => sum + weight, 0);
        for (const [index, weight] of list.entries()) {
          const share = weight / total;
          const calls = simulation.calls.filter(({ channel }) => channel === `channel-${index}`);
          // Five standard deviations.
          const slack = 5 * Math.sqrt(count * share * (1 - share));
          expect(Math.abs(calls.length - count * share)).toBeLessThanOrEqual(slack);
          expect(new Set(calls.map(({ key }) => key)).size).toBe(index + 1);
          const byKey = [...Map.groupBy(calls, ({ key }) => key).values()].map((ofKey) => ofKey.length);
          expect(Math.max(...byKey) - Math.min(...byKey)).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 15 },
    );
  });
});

describe("a dead key beside a good one", () => {
  it("fails no request, and is tried by single probes", async () => {
    const plans = record({
      kind: constantFrom("credential", "rate"),
      keys: integer({ min: 2, max: 5 }),
      gapMs: integer({ min: 50, max: 5_000 }),
    });
    await assert(
      asyncProperty(plans, async ({ kind, keys, gapMs }) => {
        const simulation = simulateChannels({
          channels: [{ apiKey: times(keys, (key) => `key-${key}`) }],
          behave: (_channel, key) => (key === "key-0" ? kind : "ok"),
        });
        const requests = await simulation.sendAll(times(150, () => gapMs));
        expect(requests.every(({ outcome }) => outcome.ok)).toBe(true);
        const dead = simulation.calls.filter(({ key }) => key === "key-0");
        // A refused key: at once, and after 5, 15 and 35 seconds; one with a 429 every ten seconds.
        expect(mostWithin(dead, 60_000)).toBeLessThanOrEqual(kind === "credential" ? 4 : 6);
      }),
      RUNS,
    );
  });
});
