import { array, assert, constantFrom, integer, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import type { AttemptFailure } from "../families/failure.js";
import { seedream } from "../families/seedream/seedream.js";
import type { Cooldown } from "../types.js";
import { createChannel } from "./channel.js";
import { type ChannelHealth, createChannelHealth, type RouteAttempt } from "./health.js";
import { DEFAULT_HEALTH_POLICY } from "./health-record.js";

const POLICY = DEFAULT_HEALTH_POLICY;
const START = 1_800_000_000_000;

interface Clock {
  now: number;
}

function createHealth(): { health: ChannelHealth; clock: Clock } {
  const clock = { now: START };
  return { health: createChannelHealth(() => clock.now, POLICY), clock };
}

/** Begins an attempt on a channel with one key. */
function begin(health: ChannelHealth, healthId: string): RouteAttempt {
  const channel = createChannel({ id: healthId, family: "seedream", apiKey: "k" }, seedream);
  const [key] = channel.keys;
  if (key === undefined) throw new Error("The channel has no key.");
  const shared = { ...key, healthId };
  return health.begin(
    { channel: { ...channel, healthId, keys: [shared] }, key: shared, upstreamModel: "m" },
    true,
  );
}

function fail(health: ChannelHealth, kind: AttemptFailure["kind"], retryAfterSeconds?: number): void {
  begin(health, "a").failed({ kind, retryAfterSeconds });
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
  ] as const)("cools a channel for the right time after one failure of kind %s: %d ms", (kind, ms) => {
    const { health, clock } = createHealth();
    fail(health, kind);
    expect(coolsFor(health, clock)).toBe(ms);
  });

  it.each(["server", "overload", "unreachable", "timeout", "broken"] as const)(
    "starts a cooldown at the third failure of kind %s in a row",
    (kind) => {
      const { health, clock } = createHealth();
      for (let failures = 0; failures < POLICY.minFailures; failures++) fail(health, kind);
      expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
    },
  );

  it("cools for the time that a 429 names, up to the longest cooldown", () => {
    const { health, clock } = createHealth();
    fail(health, "rate", 42);
    expect(coolsFor(health, clock)).toBe(42_000);
    fail(health, "rate", 999_999_999);
    expect(coolsFor(health, clock)).toBe(POLICY.maxCooldownMs);
  });

  it("starts no cooldown after few failures among many successes", () => {
    const { health, clock } = createHealth();
    for (let round = 0; round < 10; round++) {
      fail(health, "server");
      for (let successes = 0; successes < 3; successes++) begin(health, "a").succeeded();
    }
    expect(coolsFor(health, clock)).toBe(0);
  });

  it.each([0, 1, 50, 1_000])(
    "starts a cooldown at three failures in a row after %d successes",
    (successes) => {
      const { health, clock } = createHealth();
      for (let success = 0; success < successes; success++) begin(health, "a").succeeded();
      fail(health, "server");
      fail(health, "server");
      expect(coolsFor(health, clock)).toBe(0);
      fail(health, "server");
      expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
    },
  );

  it("does not count failures of an earlier window", () => {
    const { health, clock } = createHealth();
    fail(health, "server");
    fail(health, "server");
    clock.now += POLICY.windowMs;
    fail(health, "server");
    expect(coolsFor(health, clock)).toBe(0);
  });

  it("doubles the cooldown after each failed probe, up to the longest", () => {
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

  it("allows one probe, and all attempts after it succeeded", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    const probe = begin(health, "a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    expect(health.cooldownOf("a")).toMatchObject({ reason: "credential", isProbed: true });
    probe.succeeded();
    expect(health.readyAt("a")).toBe(0);
    expect(health.cooldownOf("a")).toBeUndefined();
  });

  it("allows another probe if one does not end", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    begin(health, "a");
    clock.now += POLICY.probeMs - 1;
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    clock.now += 1;
    expect(health.readyAt("a")).toBeLessThanOrEqual(clock.now);
    begin(health, "a").succeeded();
    expect(health.readyAt("a")).toBe(0);
  });

  it("does not end a cooldown after a success of an attempt that began before it", () => {
    const { health, clock } = createHealth();
    const early = begin(health, "a");
    fail(health, "credential");
    early.succeeded();
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("does not extend a cooldown after failures of attempts that began before it", () => {
    const { health, clock } = createHealth();
    const early = Array.from({ length: 50 }, () => begin(health, "a"));
    for (const attempt of early) attempt.failed({ kind: "server" });
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("returns the reason and the time of the next try", () => {
    const { health } = createHealth();
    fail(health, "credential");
    expect(health.cooldownOf("a")).toEqual({
      reason: "credential",
      until: START + POLICY.cooldownMs,
      isProbed: false,
    });
  });

  it("spends at most 16 requests an hour on a channel that always fails", () => {
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

  it("uses a channel again within the longest cooldown after any failures", () => {
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
        begin(health, "a").succeeded();
        expect(health.readyAt("a")).toBe(0);
      }),
    );
  });
});

describe("requests to a channel that cools", () => {
  it("do not extend the cooldown when they fail", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    for (let requests = 0; requests < 20; requests++) fail(health, "credential");
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("end the cooldown when they succeed", () => {
    const { health } = createHealth();
    fail(health, "credential");
    begin(health, "a").succeeded();
    expect(health.readyAt("a")).toBe(0);
  });

  it("do not allow a second probe when they fail during one", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    begin(health, "a");
    fail(health, "server");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("an attempt whose result says nothing about the channel", () => {
  it("starts no cooldown", () => {
    const { health } = createHealth();
    for (let attempts = 0; attempts < 10; attempts++) begin(health, "a").failed({ kind: "model" });
    expect(health.readyAt("a")).toBe(0);
  });

  it("leaves the probe to the next attempt", () => {
    const { health, clock } = createHealth();
    fail(health, "credential");
    clock.now = health.readyAt("a");
    begin(health, "a").failed({ kind: "model" });
    expect(health.readyAt("a")).toBe(clock.now);
    begin(health, "a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("failures of attempts that began before a recovery", () => {
  it("do not count", () => {
    const { health, clock } = createHealth();
    const early = Array.from({ length: 9 }, () => begin(health, "a"));
    fail(health, "credential");
    clock.now = health.readyAt("a");
    begin(health, "a").succeeded();
    for (const attempt of early) attempt.failed({ kind: "timeout" });
    expect(health.readyAt("a")).toBe(0);
  });
});

describe("the gateways of a fleet", () => {
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

  it("hear when a cooldown begins, becomes longer and ends", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    begin(health, "a").succeeded();
    fail(health, "credential");
    fail(health, "credential");
    fail(health, "rate", 60);
    clock.now += 60_000;
    begin(health, "a").succeeded();
    begin(health, "a").succeeded();
    expect(told).toEqual([
      ["a", { until: START + POLICY.cooldownMs, reason: "credential" }],
      ["a", { until: START + 60_000, reason: "rate" }],
      ["a", undefined],
    ]);
  });

  it("respect a cooldown of another gateway, probe at its end, and do not report it again", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    const cooldown = { until: START + 40_000, reason: "server" };
    health.merge({ a: cooldown }, ["a", "b"]);
    expect(health.readyAt("a")).toBe(START + 40_000);
    expect(health.readyAt("b")).toBe(0);
    expect(health.cooldownOf("a")).toEqual({ ...cooldown, isProbed: false });
    clock.now = START + 40_000;
    const probe = begin(health, "a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    expect(told).toEqual([]);
    probe.failed({ kind: "server" });
    // The other gateway's cooldowns were 5, 10, 20 and 40 seconds long.
    expect(told).toEqual([["a", { until: clock.now + 80_000, reason: "server" }]]);
  });

  it("report a recovery that they found", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    health.merge({ a: { until: START + 5_000, reason: "server" } }, ["a"]);
    clock.now += 5_000;
    begin(health, "a").succeeded();
    expect(told).toEqual([["a", undefined]]);
    expect(health.readyAt("a")).toBe(0);
  });

  it("probe at once when another gateway ended the cooldown", () => {
    const clock = { now: START };
    const { health, told } = createMember(clock);
    health.merge({ a: { until: START + 600_000, reason: "credential" } }, ["a"]);
    clock.now += 1_000;
    health.merge({}, ["b"]);
    expect(health.readyAt("a")).toBe(START + 600_000);
    health.merge({}, ["a"]);
    expect(health.readyAt("a")).toBe(clock.now);
    begin(health, "a");
    expect(health.readyAt("a")).toBe(Number.POSITIVE_INFINITY);
    expect(told).toEqual([]);
  });

  it("keep their own cooldown that is not in the store yet", () => {
    const clock = { now: START };
    const { health } = createMember(clock);
    fail(health, "credential");
    health.merge({}, ["a"]);
    expect(coolsFor(health, clock)).toBe(POLICY.cooldownMs);
  });

  it("keep their own longer cooldown when another gateway ended a shorter one", () => {
    const clock = { now: START };
    const { health } = createMember(clock);
    health.merge({ a: { until: START + 5_000, reason: "server" } }, ["a"]);
    fail(health, "rate", 60);
    health.merge({}, ["a"]);
    expect(coolsFor(health, clock)).toBe(60_000);
  });

  it("keep the longer of two cooldowns, and a probe in progress", () => {
    const clock = { now: START };
    const { health } = createMember(clock);
    fail(health, "rate", 60);
    health.merge({ a: { until: START + 5_000, reason: "server" } }, ["a"]);
    expect(health.readyAt("a")).toBe(START + 60_000);
    clock.now += 60_000;
    const probe = begin(health, "a");
    health.merge({ a: { until: clock.now + 9_000, reason: "server" } }, ["a"]);
    probe.succeeded();
    expect(health.readyAt("a")).toBe(0);
  });

  it.each([Number.POSITIVE_INFINITY, START + 1e12, Number.NaN, START - 1, -1])(
    "limit a cooldown with the wrong end %d to the longest one",
    (until) => {
      const clock = { now: START };
      const { health } = createMember(clock);
      health.merge({ a: { until, reason: "server" } }, ["a"]);
      expect(coolsFor(health, clock)).toBeLessThanOrEqual(POLICY.maxCooldownMs);
      clock.now += POLICY.maxCooldownMs;
      health.merge({ a: { until, reason: "server" } }, ["a"]);
      expect(health.readyAt("a")).toBeLessThanOrEqual(clock.now);
      begin(health, "a").succeeded();
      expect(health.readyAt("a")).toBe(0);
    },
  );

  it("accept any id", () => {
    const { health } = createMember({ now: START });
    health.merge({}, ["__proto__", "constructor"]);
    expect(health.readyAt("constructor")).toBe(0);
  });
});

describe("after the channels have changed", () => {
  it("the remaining channels keep their cooldowns, and removed channels lose theirs", () => {
    const told: string[] = [];
    const clock = { now: START };
    const health = createChannelHealth(
      () => clock.now,
      POLICY,
      (id) => void told.push(id),
    );
    const late = begin(health, "b");
    for (const id of ["a", "b"]) begin(health, id).failed({ kind: "credential" });
    health.retain(["a", "c"]);
    expect(health.readyAt("a")).toBe(START + POLICY.cooldownMs);
    expect(health.readyAt("b")).toBe(0);
    late.failed({ kind: "rate" });
    expect(health.readyAt("b")).toBe(0);
    expect(told).toEqual(["a", "b"]);
  });
});
