import { afterEach, describe, expect, it, vi } from "vitest";
import { hashApiKey } from "../../auth/api-key.js";
import { isPromiseLike } from "../../util/async.js";
import type { CallerLookup, CallerStore } from "./caller-store.js";
import { createCallers } from "./callers.js";
import { createMemoryCallers } from "./memory-callers.js";
import { createStoredCallers } from "./stored-callers.js";

const UNAVAILABLE: unknown = expect.objectContaining({ status: 503, code: "gateway_unavailable" });

/** Stored callers over a store whose lookups a test counts, delays and fails, with clocks that the test moves. */
function open({ isTold = false, storeNow = (): number => 1_000_000 } = {}) {
  const memory = createMemoryCallers(storeNow);
  const clock = { now: 10_000 };
  const lookups: number[] = [];
  const warnings: unknown[] = [];
  let listeners = 0;
  let lookUp = (hashes: readonly string[]): Promise<CallerLookup> => memory.lookUp(hashes);
  const store: CallerStore = {
    ...memory,
    lookUp: (hashes) => {
      lookups.push(hashes.length);
      return lookUp(hashes);
    },
    watch(listener) {
      listeners++;
      const stop = isTold ? memory.watch(listener) : () => {};
      return () => {
        listeners--;
        stop();
      };
    },
  };
  const logger = { warn: (fields: object) => void warnings.push(fields), error: () => undefined };
  const stored = createStoredCallers({ store, logger, tick: () => clock.now });
  return {
    clock,
    lookups,
    warnings,
    memory,
    stored,
    callers: createCallers({ store: memory }),
    find: async (key: string) => stored.find(hashApiKey(key)),
    listeners: () => listeners,
    isRemembered: (key: string) => !isPromiseLike(stored.find(hashApiKey(key))),
    setLookUp: (replacement: typeof lookUp) => void (lookUp = replacement),
  };
}

/** The caller that is found after its key was revoked while it was looked up. */
async function revokeDuringLookup(next: CallerStore["lookUp"] | undefined) {
  const { callers, find, memory, setLookUp } = open({ isTold: true });
  const { key } = await callers.create({ id: "shop" });
  await find(key);
  await callers.change("shop", { group: "one" });
  setLookUp(async (hashes) => {
    const before = await memory.lookUp(hashes);
    setLookUp(next ?? ((again) => memory.lookUp(again)));
    await callers.revoke("shop");
    return before;
  });
  expect(await find(key)).toMatchObject({ group: "one" });
  return find(key);
}

afterEach(() => vi.useRealTimers());

describe("a stored caller", () => {
  it("is looked up once, and then only after half a second", async () => {
    const { callers, find, isRemembered, clock, lookups } = open();
    const { key } = await callers.create({ id: "shop", limits: { concurrent: 2 } });
    const keyHint = `cal-…${key.slice(-4)}`;
    expect(await find(key)).toEqual({ id: "shop", limits: { concurrent: 2 }, keyHint });
    clock.now += 499;
    expect(isRemembered(key)).toBe(true);
    expect(lookups).toEqual([1]);
    clock.now += 1;
    expect(await find(key)).toMatchObject({ id: "shop" });
    expect(lookups).toEqual([1, 1]);
  });

  it.each([
    [
      "changed",
      (id: string) => ({ change: { group: "vip" }, id }),
      { id: "shop", group: "vip", keyHint: expect.any(String) },
    ],
    ["revoked", undefined, undefined],
  ])("that another process has %s is read again within half a second", async (_what, toChange, expected) => {
    const { callers, find, clock } = open();
    const { key } = await callers.create({ id: "shop" });
    await find(key);
    if (toChange === undefined) await callers.revoke("shop");
    else await callers.change("shop", toChange("shop").change);
    clock.now += 500;
    expect(await find(key)).toEqual(expected);
  });

  it.each([
    ["", false],
    [", also if another key is looked up first", true],
  ])(
    "that another process has created after its key was refused is admitted within half a second%s",
    async (_which, isSecond) => {
      const { callers, find, clock, lookups, memory } = open();
      const { key } = await callers.create({ id: "shop" });
      const other = await callers.create({ id: "other" });
      const { keys } = (await memory.find("shop")) ?? { keys: [] };
      const write = (held: typeof keys) => () =>
        ({
          caller: { settings: '{"version":1}', keys: held },
          audit: { by: "me", action: "change", details: "{}" },
        }) as const;
      await memory.change("shop", write([]));
      expect(await find(key)).toBeUndefined();
      expect(await find(key)).toBeUndefined();
      expect(lookups).toEqual([1]);
      await memory.change("shop", write(keys));
      clock.now += 500;
      if (isSecond) await find(other.key);
      expect(await find(key)).toMatchObject({ id: "shop" });
    },
  );

  it("is read again at once if the store tells the change, or this process made it", async () => {
    const told = open({ isTold: true });
    const { key } = await told.callers.create({ id: "shop" });
    await told.find(key);
    await told.callers.revoke("shop");
    expect(await told.find(key)).toBeUndefined();

    const own = open();
    const other = await own.callers.create({ id: "shop" });
    await own.find(other.key);
    await own.callers.revoke("shop");
    own.stored.forget("shop");
    expect(await own.find(other.key)).toBeUndefined();
  });

  it("is looked up once after a change that was told", async () => {
    const { callers, find, isRemembered, lookups } = open({ isTold: true });
    const { key } = await callers.create({ id: "shop" });
    await find(key);
    await callers.change("shop", { group: "vip" });
    expect(await find(key)).toMatchObject({ group: "vip" });
    expect(isRemembered(key)).toBe(true);
    expect(lookups).toEqual([1, 1]);
  });

  it("is read again half a second after the beginning of its lookup, however long that took", async () => {
    const { callers, find, clock, lookups, memory, setLookUp } = open();
    const { key } = await callers.create({ id: "shop" });
    setLookUp((hashes) => {
      clock.now += 400;
      return memory.lookUp(hashes);
    });
    await find(key);
    clock.now += 100;
    await find(key);
    expect(lookups).toEqual([1, 1]);
  });

  describe("that is revoked during its lookup", () => {
    it("is read again", async () => {
      expect(await revokeDuringLookup(undefined)).toBeUndefined();
    });

    it("is not remembered while the store is away", async () => {
      await expect(revokeDuringLookup(() => Promise.reject(new Error("away")))).rejects.toEqual(UNAVAILABLE);
    });
  });

  it("has keys that end by the clock of the store", async () => {
    let storeTime = 5_000_000;
    const { callers, find, clock, isRemembered } = open({ storeNow: () => storeTime });
    const { key } = await callers.create({ id: "shop" });
    await callers.rotate("shop", { overlapSeconds: 60 });
    storeTime += 59_800;
    expect(await find(key)).toMatchObject({ id: "shop" });
    clock.now += 199;
    expect(await find(key)).toMatchObject({ id: "shop" });
    clock.now += 1;
    expect(isRemembered(key)).toBe(true);
    expect(await find(key)).toBeUndefined();
  });

  it.each([
    ["of a newer version", '{"version":2,"budget":{"amount":"5"}}', "newer version"],
    ["with an unknown field", '{"version":1,"mayDoAnything":true}', "mayDoAnything"],
    ["with a wrong limit", '{"version":1,"limits":{"concurrent":-1}}', "limits.concurrent"],
    ["that is not JSON", "{", "damaged"],
    ["without a version", "{}", "version"],
  ])("%s fails without the others", async (_what, settings, reason) => {
    const { memory, callers, find, isRemembered } = open();
    const bad = await callers.create({ id: "bad" });
    const good = await callers.create({ id: "good" });
    await memory.change("bad", ({ keys }) => ({
      caller: { settings, keys },
      audit: { by: "me", action: "change", details: "{}" },
    }));
    const [failed, found] = await Promise.allSettled([find(bad.key), find(good.key)]);
    expect(failed).toMatchObject({ status: "rejected", reason: { name: "TypeError" } });
    expect(failed).toMatchObject({ reason: { message: expect.stringContaining(reason) } });
    expect(found).toMatchObject({ value: { id: "good" } });
    expect(() => isRemembered(bad.key)).toThrow(reason);
    expect(isRemembered(good.key)).toBe(true);
  });
});

describe("the subscription to changes", () => {
  it("ends when the callers are closed, and does not begin after that", async () => {
    const [early, late] = [open(), open()];
    await early.find("a");
    expect(early.listeners()).toBe(1);
    early.stored.close();
    late.stored.close();
    await late.find("a");
    expect([early.listeners(), late.listeners()]).toEqual([0, 0]);
  });
});

describe("unknown keys", () => {
  it("at the same time cause few lookups, refuse nothing of a caller that is remembered, and are bounded", async () => {
    const { callers, find, isRemembered, lookups, clock } = open();
    const { key } = await callers.create({ id: "shop" });
    await find(key);
    clock.now += 500;
    const flood = Array.from({ length: 5_000 }, (_, at) => find(`random-${at}`));
    const known = find(key);
    const outcomes = await Promise.allSettled(flood);
    expect(await known).toMatchObject({ id: "shop" });
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(2_000);
    expect(refused[0]).toMatchObject({ reason: UNAVAILABLE });
    expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeGreaterThanOrEqual(2_000);
    expect(Math.max(...lookups)).toBeLessThanOrEqual(500);
    expect(lookups.length).toBeLessThan(12);
    expect(isRemembered(key)).toBe(true);
  });

  it("one after the other do not displace a caller that is remembered", async () => {
    const { callers, find, isRemembered, stored } = open();
    const { key } = await callers.create({ id: "shop" });
    await find(key);
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        Array.from({ length: 1_500 }, async (_, at) =>
          stored.find((round * 1_500 + at).toString(16).padStart(64, "0")),
        ),
      );
    }
    expect(isRemembered(key)).toBe(true);
    // The oldest unknown keys were forgotten, the newest are remembered.
    expect(isPromiseLike(stored.find("0".repeat(64)))).toBe(true);
    expect(isPromiseLike(stored.find((14_999).toString(16).padStart(64, "0")))).toBe(false);
  });
});

describe("while the store is away", () => {
  it("remembered callers are admitted for five minutes, and all other keys get a 503", async () => {
    const { callers, find, clock, setLookUp, lookups, warnings } = open();
    const { key } = await callers.create({ id: "shop" });
    await find(key);
    setLookUp(() => Promise.reject(new Error("away")));
    clock.now += 60_000;
    expect(await find(key)).toMatchObject({ id: "shop" });
    await expect(find("unknown")).rejects.toEqual(UNAVAILABLE);
    // The store is left alone for a second after a failure.
    expect(lookups).toEqual([1, 1]);
    expect(warnings).toHaveLength(1);
    clock.now += 239_999;
    expect(await find(key)).toMatchObject({ id: "shop" });
    clock.now += 1;
    await expect(find(key)).rejects.toEqual(UNAVAILABLE);
  });

  it("the five minutes of a caller begin when its key was last confirmed, also by a lookup of another key", async () => {
    const { callers, find, clock, setLookUp } = open();
    const { key } = await callers.create({ id: "shop" });
    const other = await callers.create({ id: "other" });
    await find(key);
    clock.now += 200_000;
    await find(other.key);
    await callers.change("other", { group: "vip" });
    clock.now += 500;
    await find(other.key);
    setLookUp(() => Promise.reject(new Error("away")));
    clock.now += 299_499;
    expect(await find(key)).toMatchObject({ id: "shop" });
    clock.now += 1;
    await expect(find(key)).rejects.toEqual(UNAVAILABLE);
  });

  it("a caller that is known to have changed is not admitted as it was", async () => {
    const { callers, find, stored, setLookUp } = open();
    const { key } = await callers.create({ id: "shop" });
    await find(key);
    stored.forget("shop");
    setLookUp(() => Promise.reject(new Error("away")));
    await expect(find(key)).rejects.toEqual(UNAVAILABLE);
  });

  it("the store is asked again after a second", async () => {
    const { callers, find, clock, setLookUp, memory } = open();
    const { key } = await callers.create({ id: "shop" });
    setLookUp(() => Promise.reject(new Error("away")));
    await expect(find(key)).rejects.toEqual(UNAVAILABLE);
    setLookUp((hashes) => memory.lookUp(hashes));
    clock.now += 999;
    await expect(find(key)).rejects.toEqual(UNAVAILABLE);
    clock.now += 1;
    expect(await find(key)).toMatchObject({ id: "shop" });
  });

  it("a store that does not respond delays a request by two seconds at most", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { callers, find, clock, setLookUp } = open();
    const { key } = await callers.create({ id: "shop" });
    await find(key);
    setLookUp(() => new Promise(() => {}));
    clock.now += 500;
    const waiting = [find(key), find(key)];
    const unknown = find("unknown");
    unknown.catch(() => undefined);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await Promise.all(waiting)).toMatchObject([{ id: "shop" }, { id: "shop" }]);
    await expect(unknown).rejects.toEqual(UNAVAILABLE);
  });
});
