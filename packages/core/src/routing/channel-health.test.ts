import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttemptFailure } from "../upstream/attempt-failure.js";
import { type ChannelHealth, createChannelHealth } from "./channel-health.js";
import { DEFAULT_HEALTH_POLICY } from "./health-policy.js";

const POLICY = DEFAULT_HEALTH_POLICY;
const START = 1_800_000_000_000;

interface Clock {
  now: number;
}

function createHealth(): { health: ChannelHealth; clock: Clock } {
  const clock = { now: START };
  return { health: createChannelHealth(() => clock.now, POLICY), clock };
}

function fail(health: ChannelHealth, kind: AttemptFailure["kind"], retryAfterSeconds?: number): void {
  health.begin("a").failed({ kind, retryAfterSeconds });
}

function coolsFor(health: ChannelHealth, clock: Clock): number {
  return Math.max(0, health.readyAt("a") - clock.now);
}

describe("createChannelHealth", () => {
  it.each([
    ["content", 0],
    ["rate", POLICY.rateLimitMs],
    ["credential", POLICY.cooldownMs],
    ["quota", POLICY.cooldownMs],
    ["server", 0],
    ["overload", 0],
    ["unreachable", 0],
    ["timeout", 0],
    ["broken", 0],
  ] as const)("after one failure of kind %s the channel cools for %d ms", (kind, ms) => {
    const { health, clock } = createHealth();
    fail(health, kind);
    expect(coolsFor(health, clock)).toBe(ms);
  });

  it.each(["server", "overload", "unreachable", "timeout", "broken"] as const)(
    "a third failure of kind %s in a row cools the channel",
    (kind) => {
      const { health, clock } = createHealth();
      for (let failures = 0; failures < POLICY.minFailures; failures++) fail(health, kind);
      expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
    },
  );

  it("waits as long as a 429 asks, and never longer than the longest cooldown", () => {
    const { health, clock } = createHealth();
    fail(health, "rate", 42);
    expect(coolsFor(health, clock)).toBe(42_000);
    fail(health, "rate", 999_999_999);
    expect(coolsFor(health, clock)).toBe(POLICY.maxCooldownMs);
  });

  it("a few failures among many successes cool nothing", () => {
    const { health, clock } = createHealth();
    for (let round = 0; round < 10; round++) {
      fail(health, "server");
      for (let successes = 0; successes < 3; successes++) health.begin("a").succeeded();
    }
    expect(coolsFor(health, clock)).toBe(0);
  });

  it("failures of another window are forgotten", () => {
    const { health, clock } = createHealth();
    fail(health, "server");
    fail(health, "server");
    clock.now += POLICY.windowMs;
    fail(health, "server");
    expect(coolsFor(health, clock)).toBe(0);
  });

  it("doubles the time with every probe that fails, up to the longest", () => {
    const { health, clock } = createHealth();
    const times: number[] = [];
    for (let probes = 0; probes < 10; probes++) {
      fail(health, "credential");
      times.push(coolsFor(health, clock));
      clock.now = health.readyAt("a");
    }
    expect(times.slice(0, 4)).toEqual([5_000, 10_000, 20_000, 40_000]);
    expect(times.at(-1)).toBe(POLICY.maxCooldownMs);
  });

  it("lets one probe through, and all once it has succeeded", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    const probe = health.begin("a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    expect(health.cooldownOf("a")).toMatchObject({ reason: "credential", isProbed: true });
    probe.succeeded();
    expect(health.readyAt("a")).toBe(0);
    expect(health.cooldownOf("a")).toBeUndefined();
  });

  it("a late success of before does not end a cooldown", () => {
    const { health, clock } = createHealth();
    const early = health.begin("a");
    fail(health, "credential");
    early.succeeded();
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("late failures of before do not make a cooldown longer", () => {
    const { health, clock } = createHealth();
    const early = Array.from({ length: 50 }, () => health.begin("a"));
    for (const attempt of early) attempt.failed({ kind: "server" });
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("tells the reason and the next try", () => {
    const { health } = createHealth();
    fail(health, "credential");
    expect(health.cooldownOf("a")).toEqual({
      reason: "credential",
      until: START + POLICY.cooldownMs,
      isProbed: false,
    });
  });

  it("a dead channel that is left alone while it cools costs a handful of requests an hour", () => {
    const kinds = constantFrom<AttemptFailure["kind"][]>(
      "server",
      "credential",
      "unreachable",
      "timeout",
      "quota",
    );
    assert(
      property(kinds, integer({ min: 1, max: 5_000 }), (kind, requestMs) => {
        const { health, clock } = createHealth();
        let spent = 0;
        for (; clock.now < START + 3_600_000; clock.now += requestMs) {
          if (health.readyAt("a") > clock.now) continue;
          fail(health, kind);
          spent++;
        }
        // Three to notice, one for each of 5, 10, … 320 s, then one in ten minutes.
        expect(spent).toBeLessThanOrEqual(3 + 7 + 6);
      }),
      { numRuns: 30 },
    );
  });

  it("whatever happens, a channel that works again is used again within the longest cooldown", () => {
    const events = array(
      record({
        kind: constantFrom<AttemptFailure["kind"][]>(
          "content",
          "rate",
          "credential",
          "server",
          "quota",
          "broken",
        ),
        waitMs: integer({ min: 0, max: 700_000 }),
        retryAfterSeconds: integer({ min: 0, max: 10_000 }),
      }),
      { maxLength: 40 },
    );
    assert(
      property(events, (list) => {
        const { health, clock } = createHealth();
        for (const { kind, waitMs, retryAfterSeconds } of list) {
          fail(health, kind, retryAfterSeconds);
          clock.now += waitMs;
        }
        expect(coolsFor(health, clock)).toBeLessThanOrEqual(POLICY.maxCooldownMs);
        clock.now += POLICY.maxCooldownMs;
        health.begin("a").succeeded();
        expect(health.readyAt("a")).toBe(0);
      }),
    );
  });
});
