import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttemptFailure } from "../families/family.js";
import type { Cooldown } from "../types.js";
import { DEFAULT_HEALTH_POLICY } from "./cooldown.js";
import { type ChannelHealth, createChannelHealth } from "./health.js";

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

  it.each([0, 1, 50, 1_000])(
    "three failures in a row cool a channel that went well %d times before",
    (successes) => {
      const { health, clock } = createHealth();
      for (let success = 0; success < successes; success++) health.begin("a").succeeded();
      fail(health, "server");
      fail(health, "server");
      expect(coolsFor(health, clock)).toBe(0);
      fail(health, "server");
      expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
    },
  );

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

  it("gives up a probe that does not end, as where a host stopped its request", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    health.begin("a");
    clock.now += POLICY.probeMs - 1;
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    clock.now += 1;
    expect(health.readyAt("a")).toBeLessThanOrEqual(clock.now);
    health.begin("a").succeeded();
    expect(health.readyAt("a")).toBe(0);
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

describe("requests that are sent to a cooling channel for want of a better one", () => {
  it("make its cooldown no longer before it is due", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    for (let requests = 0; requests < 20; requests++) fail(health, "credential");
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("end it when they succeed", () => {
    const { health } = createHealth();
    fail(health, "credential");
    health.begin("a").succeeded();
    expect(health.readyAt("a")).toBe(0);
  });

  it("do not make room for a second probe when they fail while one is under way", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    health.begin("a");
    fail(health, "server");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("an attempt that says nothing of the channel", () => {
  it("leaves a channel that is well as it is", () => {
    const { health } = createHealth();
    for (let attempts = 0; attempts < 10; attempts++) health.begin("a").abandoned();
    expect(health.readyAt("a")).toBe(0);
  });

  it("lets the next one probe", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    health.begin("a").abandoned();
    expect(health.readyAt("a")).toBe(clock.now);
    health.begin("a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("failures of before a recovery", () => {
  it("do not count against the channel that works again", () => {
    const { health, clock } = createHealth();
    const early = Array.from({ length: 9 }, () => health.begin("a"));
    fail(health, "credential");
    clock.now = health.readyAt("a");
    health.begin("a").succeeded();
    for (const attempt of early) attempt.failed({ kind: "timeout" });
    expect(health.readyAt("a")).toBe(0);
  });
});

describe("a fleet", () => {
  type Told = [id: string, cooldown: Cooldown | undefined];

  function createMember(clock: Clock): { health: ChannelHealth; told: Told[] } {
    const told: Told[] = [];
    const health = createChannelHealth(
      () => clock.now,
      POLICY,
      (id, cooldown) => void told.push([id, cooldown]),
    );
    return { health, told };
  }

  it("is told when a channel begins to cool, cools for longer, and is well again", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    health.begin("a").succeeded();
    fail(health, "credential");
    fail(health, "credential");
    fail(health, "rate", 60);
    clock.now += 60_000;
    health.begin("a").succeeded();
    health.begin("a").succeeded();
    expect(told).toEqual([
      ["a", { until: START + POLICY.cooldownMs, reason: "credential" }],
      ["a", { until: START + 60_000, reason: "rate" }],
      ["a", undefined],
    ]);
  });

  it("leaves a channel alone that cools elsewhere, probes it when it is due, and does not echo it", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    const cooldown = { until: START + 40_000, reason: "server" };
    health.merge({ a: cooldown }, ["a", "b"]);
    expect(health.readyAt("a")).toBe(START + 40_000);
    expect(health.readyAt("b")).toBe(0);
    expect(health.cooldownOf("a")).toEqual({ ...cooldown, isProbed: false });
    clock.now = START + 40_000;
    const probe = health.begin("a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    expect(told).toEqual([]);
    probe.failed({ kind: "server" });
    // Elsewhere it had cooled for 5, 10, 20 and 40 seconds.
    expect(told).toEqual([["a", { until: clock.now + 80_000, reason: "server" }]]);
  });

  it("tells a recovery that it found itself", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    health.merge({ a: { until: START + 5_000, reason: "server" } }, ["a"]);
    clock.now += 5_000;
    health.begin("a").succeeded();
    expect(told).toEqual([["a", undefined]]);
    expect(health.readyAt("a")).toBe(0);
  });

  it("probes at once where a cooldown was ended elsewhere", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    health.merge({ a: { until: START + 600_000, reason: "credential" } }, ["a"]);
    clock.now += 1_000;
    health.merge({}, ["b"]);
    expect(health.readyAt("a")).toBe(START + 600_000);
    health.merge({}, ["a"]);
    expect(health.readyAt("a")).toBe(clock.now);
    health.begin("a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    expect(told).toEqual([]);
  });

  it("keeps a cooldown of its own that the others have not seen yet", () => {
    const clock = { now: START };
    const { health } = createMember(clock);
    fail(health, "credential");
    health.merge({}, ["a"]);
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("keeps one of its own that is longer than the one that was ended elsewhere", () => {
    const clock = { now: START };
    const { health } = createMember(clock);
    health.merge({ a: { until: START + 5_000, reason: "server" } }, ["a"]);
    fail(health, "rate", 60);
    health.merge({}, ["a"]);
    expect(coolsFor(health, clock)).toBe(60_000);
  });

  it("keeps the longer of two cooldowns, and a probe that is under way", () => {
    const clock = { now: START };
    const { health } = createMember(clock);
    fail(health, "rate", 60);
    health.merge({ a: { until: START + 5_000, reason: "server" } }, ["a"]);
    expect(health.readyAt("a")).toBe(START + 60_000);
    clock.now += 60_000;
    const probe = health.begin("a");
    health.merge({ a: { until: clock.now + 9_000, reason: "server" } }, ["a"]);
    probe.succeeded();
    expect(health.readyAt("a")).toBe(0);
  });

  it.each([Number.POSITIVE_INFINITY, START + 1e12, Number.NaN, START - 1, -1])(
    "is not kept from a channel for long by a clock that says %d",
    (until) => {
      const clock = { now: START };
      const { health } = createMember(clock);
      health.merge({ a: { until, reason: "server" } }, ["a"]);
      expect(coolsFor(health, clock)).toBeLessThanOrEqual(POLICY.maxCooldownMs);
      clock.now += POLICY.maxCooldownMs;
      health.merge({ a: { until, reason: "server" } }, ["a"]);
      expect(health.readyAt("a")).toBeLessThanOrEqual(clock.now);
      health.begin("a").succeeded();
      expect(health.readyAt("a")).toBe(0);
    },
  );

  it("asks for names as they are", () => {
    const { health } = createMember({ now: START });
    health.merge({}, ["__proto__", "constructor"]);
    expect(health.readyAt("constructor")).toBe(0);
  });
});

describe("after the channels have changed", () => {
  it("those that stayed are as they were, and the others begin afresh", () => {
    const told: string[] = [];
    const clock = { now: START };
    const health = createChannelHealth(
      () => clock.now,
      POLICY,
      (id) => void told.push(id),
    );
    const late = health.begin("b");
    for (const id of ["a", "b"]) health.begin(id).failed({ kind: "credential" });
    health.retain(["a", "c"]);
    expect(health.readyAt("a")).toBe(START + POLICY.cooldownMs);
    expect(health.readyAt("b")).toBe(0);
    late.failed({ kind: "rate" });
    expect(health.readyAt("b")).toBe(0);
    expect(told).toEqual(["a", "b"]);
  });
});
