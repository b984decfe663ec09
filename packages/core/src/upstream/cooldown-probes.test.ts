import { describe, expect, it } from "vitest";
import type { Dependencies } from "../kernel/kernel-parts.js";
import { type Behaviour, type SimulatedCall, simulateChannels } from "../testing/simulate-channels.js";
import { ARK_RESPONSE, createTestGateway } from "../testing/test-gateway.js";

const DEAD_KEYS = 14;
const GAP_MS = 30_000;

/** Keys `key-0` and so on. One of them works. */
function createKeys(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `key-${index}`);
}

const gaps = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

/** The calls of each request. */
function groupByRequest(calls: readonly SimulatedCall[]): SimulatedCall[][] {
  return [...Map.groupBy(calls, ({ request }) => request).values()];
}

const isProbe = ({ wasCooling, wasEarly }: SimulatedCall): boolean => wasCooling && !wasEarly;

describe("fourteen dead keys and a working one", () => {
  it.each<[Behaviour, number]>([
    ["credential", 0],
    ["credential", 7],
    ["credential", DEAD_KEYS],
    ["quota", DEAD_KEYS],
    ["model", DEAD_KEYS],
  ])(
    "fail none of 720 requests, one each 30 s, when they fail with %s and key %i is good",
    async (kind, good) => {
      const keys = createKeys(DEAD_KEYS + 1);
      // A removed model is missing for all keys of a channel, so each key has its own channel.
      const simulation = simulateChannels({
        channels: kind === "model" ? keys.map((apiKey) => ({ apiKey })) : [{ apiKey: keys }],
        behave: (_channel, key) => (key === `key-${good}` ? "ok" : kind),
      });
      const requests = await simulation.sendAll(gaps(720, GAP_MS));
      expect(requests.filter(({ outcome }) => !outcome.ok)).toEqual([]);
      const [first = [], ...others] = groupByRequest(simulation.calls);
      expect(first.length).toBeLessThanOrEqual(DEAD_KEYS + 1);
      // One probe, and the good key.
      expect(others.slice(DEAD_KEYS).filter((calls) => calls.length > 2)).toEqual([]);
    },
  );

  it("fail no request once the good key, which was over its rate, is used again", async () => {
    const simulation = simulateChannels({
      channels: [{ apiKey: createKeys(DEAD_KEYS + 1) }],
      behave: (_channel, key, ms) => {
        if (key !== "key-14") return "credential";
        return ms >= 300_000 && ms < 303_000 ? { retryAfterSeconds: 5 } : "ok";
      },
      latencyMs: 2_000,
    });
    const requests = await simulation.sendAll(gaps(400, 1_000));
    const failed = requests.filter(({ outcome }) => !outcome.ok);
    // Some met the 429, or came before it was waited out; in the first seconds all keys are tried at once.
    const unexpected = failed.filter(
      ({ beganAt }) => beganAt > 10_000 && (beganAt < 298_000 || beganAt > 310_000),
    );
    expect(unexpected).toEqual([]);
    expect(simulation.calls.some(({ behaviour }) => typeof behaviour === "object")).toBe(true);
  });
});

describe("a probe that fails", () => {
  it("is followed only by attempts with keys that are known to work", async () => {
    // All fail for 20 s, and cool; then only the last one is well, and not yet known to be.
    const simulation = simulateChannels({
      channels: [{}, {}, {}, {}],
      behave: (channel, _key, ms) => (ms < 20_000 || channel !== "channel-3" ? "overload" : "ok"),
    });
    await simulation.sendAll(gaps(400, 100));
    const probing = groupByRequest(simulation.calls).filter((calls) => calls.some(isProbe));
    expect(probing.length).toBeGreaterThan(4);
    for (const [first, ...others] of probing) {
      if (first === undefined || !isProbe(first) || first.behaviour === "ok") continue;
      expect(others.filter(({ wasCooling }) => wasCooling)).toEqual([]);
    }
  });

  it("costs its client nothing, however much of the retry budget is used up", async () => {
    // Eleven channels with cooldowns that end within one second: more probes than the budget has retries.
    const simulation = simulateChannels({
      channels: [...createKeys(11).map((apiKey) => ({ apiKey, priority: 1 })), { apiKey: "good" }],
      behave: (_channel, key) => (key === "good" ? "ok" : "credential"),
    });
    await simulation.send();
    const requests = await simulation.sendAll([5_000, ...gaps(30, 20)]);
    expect(simulation.calls.filter(isProbe)).toHaveLength(11);
    expect(requests.filter(({ outcome }) => !outcome.ok)).toEqual([]);
    expect(simulation.refusedRetries()).toBe(0);
  });
});

/** Channels `a`, `b` and `c`, tried in this order. Each responds with the status that `behave` has for it. */
function openSite(behave: Record<string, () => Response>, dependencies: Partial<Dependencies> = {}) {
  const clock = { now: 1_800_000_000_000 };
  const site = createTestGateway(
    ({ url }) => behave[new URL(url).hostname]?.() ?? Response.json(ARK_RESPONSE),
    {
      models: { doodle: { family: "seedream" } },
      channels: ["a", "b", "c"].map((id, index) => ({
        id,
        family: "seedream",
        apiKey: `key-of-${id}`,
        baseUrl: `https://${id}`,
        priority: -index,
      })),
    },
    { now: () => clock.now, ...dependencies },
  );
  const send = async () => {
    const before = site.calls.length;
    const { status } = await site.post({ model: "doodle", prompt: "x" });
    return [status, ...site.calls.slice(before).map(({ url }) => new URL(url).hostname)];
  };
  /** Seconds until the channel is tried again. */
  const secondsLeft = (index: number): number => {
    const { nextTryAt } = site.gateway.status().channels[index] ?? {};
    return nextTryAt === undefined ? 0 : (Date.parse(nextTryAt) - clock.now) / 1000;
  };
  return { send, secondsLeft, pass: (seconds: number) => void (clock.now += seconds * 1000) };
}

const overload = (): Response => new Response("", { status: 503 });
const refuse = (): Response => new Response("", { status: 401 });

describe("the retry budget", () => {
  it("counts every retry after a failure that may pass, but not the retry after a probe", async () => {
    const behave: Record<string, () => Response> = { a: overload };
    const { send, pass } = openSite(behave, { retryBudget: { windowMs: Infinity, ratio: 0, minimum: 3 } });

    // Three failures in a row make the channel cool. Their retries use up the budget.
    for (let request = 0; request < 3; request++) expect(await send()).toEqual([200, "a", "b"]);
    expect(await send()).toEqual([200, "b"]);
    pass(3_600);
    expect(await send()).toEqual([200, "a", "b"]);
    behave["b"] = overload;
    expect(await send()).toEqual([502, "b"]);
  });
});

describe("a request whose probe has failed", () => {
  it("tries nothing that cools, also after another channel has failed", async () => {
    const { send, pass } = openSite({ a: refuse, b: overload, c: refuse });
    expect(await send()).toEqual([502, "a", "b", "c"]);
    pass(3_600);
    expect(await send()).toEqual([502, "a", "b"]);
  });
});

describe("the length of a cooldown", () => {
  it("doubles with each failed probe, and is the first one again after a success", async () => {
    const behave: Record<string, () => Response> = { a: refuse };
    const { send, secondsLeft, pass } = openSite(behave);
    const lengths: number[] = [];
    for (let round = 0; round < 3; round++) {
      await send();
      lengths.push(secondsLeft(0));
      pass(secondsLeft(0));
    }
    delete behave["a"];
    expect(await send()).toEqual([200, "a"]);
    behave["a"] = refuse;
    await send();
    expect([...lengths, secondsLeft(0)]).toEqual([5, 10, 20, 5]);
  });

  it("is not shortened by a later response with an earlier time", async () => {
    let retryAfter = "60";
    const limit = (): Response => new Response("", { status: 429, headers: { "retry-after": retryAfter } });
    const { send, secondsLeft } = openSite(
      { a: limit, b: limit, c: limit },
      { retryBudget: { windowMs: Infinity, ratio: 0, minimum: 10 } },
    );
    await send();
    retryAfter = "1";
    expect(await send()).toEqual([429, "a", "b", "c"]);
    expect([0, 1, 2].map(secondsLeft)).toEqual([60, 60, 60]);
  });
});

describe("a probe in progress", () => {
  it("is the only one, and does not delay other requests, however long it takes", async () => {
    let probes = 0;
    const simulation = simulateChannels({
      channels: [{ priority: 1 }, {}],
      behave: (channel, _key, ms) => (channel === "channel-0" && ms < 1 ? "credential" : "ok"),
      latencyMs: 900_000,
    });
    await simulation.send();
    const requests = await simulation.sendAll([10_000, ...gaps(200, 1_000)]);
    for (const call of simulation.calls) if (isProbe(call)) probes++;
    expect(probes).toBe(1);
    expect(requests.every(({ outcome }) => outcome.ok)).toBe(true);
    const elsewhere = requests.filter(({ outcome }) => outcome.ok && outcome.channel.id === "channel-1");
    expect(elsewhere).toHaveLength(200);
  });
});

describe("when nothing is known to work", () => {
  it("the first attempt uses a key that was not refused and that is not being probed", async () => {
    const simulation = simulateChannels({
      channels: [{ priority: 1 }, {}],
      behave: (channel, _key, ms) => {
        if (channel === "channel-0") return "credential";
        return ms < 1_000 ? { retryAfterSeconds: 5 } : "ok";
      },
      latencyMs: 100,
    });
    await simulation.sendAll([0]);
    const requests = await simulation.sendAll([6_000, 10, 10, 10]);
    expect(requests.every(({ outcome }) => outcome.ok)).toBe(true);
    expect(simulation.calls.slice(-4).map(({ channel }) => channel)).toEqual(
      Array.from({ length: 4 }, () => "channel-1"),
    );
  });

  it("the one closest to recovery is tried", async () => {
    // Each of the three requests begins with another channel, so that all channels cool.
    let drawn = 0;
    const random = (): number => (drawn++ % 3) / 3;
    const simulation = simulateChannels({
      channels: [{}, {}, {}],
      behave: (channel) => ({ retryAfterSeconds: channel === "channel-1" ? 20 : 60 }),
      random,
    });
    await simulation.sendAll(gaps(3, 0));
    expect(new Set(simulation.calls.map(({ channel }) => channel)).size).toBe(3);
    const before = simulation.calls.length;
    expect((await simulation.send()).outcome.ok).toBe(false);
    expect(simulation.calls[before]?.channel).toBe("channel-1");
  });
});

describe("an account with exhausted quota beside another account", () => {
  it("fails no client at the end of its cooldowns", async () => {
    const simulation = simulateChannels({
      channels: [{ priority: 1 }, {}],
      behave: (channel) => (channel === "channel-0" ? "quota" : "ok"),
    });
    const requests = await simulation.sendAll(gaps(720, GAP_MS));
    expect(requests.every(({ outcome }) => outcome.ok)).toBe(true);
  });
});
