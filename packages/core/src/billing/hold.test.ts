import { beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import type { Ledger } from "../features/usage/usage-reports.js";
import { createHolds, type Hold } from "./hold.js";
import { createPriceList } from "./pricing.js";
import type { BilledRequest } from "./records.js";

const NOW = Date.UTC(2026, 10, 21);
const PRICE = createPriceList({
  model_details: { m: { pricing_mode: "per-request", model_price: "0.1" } },
}).find("m", "default");
const REQUEST: BilledRequest = {
  id: "req_1",
  receivedAt: NOW,
  time: new Date(NOW).toISOString(),
  caller: "me",
  group: "default",
  model: "m",
  operation: "generate",
  bounds: { maxImages: 1 },
  price: PRICE,
};
const SENT_TO = { channel: "ark", upstreamModel: "m", attempts: [] };
const MADE = { status: 200, images: 1 };
const FAILED = { status: 502, images: 0, errorCode: "upstream_error" };
const NOTHING_MADE = { ...FAILED, isConclusive: true };

function create(changed: (own: Ledger) => Partial<Ledger> = () => ({})) {
  const own = createMemoryLedger({ now: () => NOW });
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  const holds = createHolds({
    ledger: { ...own, ...changed(own) },
    logger: { warn: log, error: log },
    onLost: "release",
    now: () => NOW + 100,
  });
  const open = (request: Partial<BilledRequest> = {}): Promise<Hold> =>
    holds.open({ ...REQUEST, ...request }, { ttlMs: 60_000, keepAlive: () => {} });
  const records = async (): Promise<readonly object[]> => {
    const found: object[] = [];
    for await (const record of own.records()) found.push(record);
    return found;
  };
  return { holds, open, own, logs, records, balance: (caller = "me") => own.balance(caller) };
}

/** A method that fails a number of times before it does its work. */
function failing<Given>(times: number, method: (given: Given) => Promise<void>) {
  let left = times;
  return vi.fn<(given: Given) => Promise<void>>(async (given) => {
    if (left-- > 0) throw new Error("unreachable");
    await method(given);
  });
}

/** Opens a hold per id, and releases all of them while the ledger refuses every release. */
async function releaseLate(ids: readonly string[]) {
  const refused = new Set(ids);
  const accepted: string[] = [];
  const context = create(() => ({
    release: async (id) => {
      if (refused.has(id)) throw new Error("unreachable");
      accepted.push(id);
    },
  }));
  const released = ids.map(async (id) => (await context.open({ id })).release());
  await vi.advanceTimersByTimeAsync(5_300);
  await Promise.all(released);
  return { ...context, refused, accepted };
}

describe("opening a hold", () => {
  const REFUSED = { code: "insufficient_quota", status: 403, shouldRetry: false };

  it("sets aside the most that the request can cost", async () => {
    const { open, own, balance } = create();
    await open({ bounds: { maxImages: 4 } });
    expect(await balance()).toEqual({ settled: "0", held: "0.4" });
    expect(await own.sweep({ onLost: "release" })).toEqual([]);
  });

  it("sets nothing aside without a price, and the ledger knows the request", async () => {
    const { open, own, balance } = create();
    await open({ price: undefined });
    expect(await balance()).toEqual({ settled: "0", held: "0" });
    expect(await own.sweep({ onLost: "charge", own: true })).toMatchObject([{ id: "req_1", held: null }]);
  });

  it.each<[string | number, number]>([
    ["0.3", 3],
    ["0.39999999999999999999999999", 3],
    [0.3, 3],
    [1e-7, 0],
    ["0.1", 1],
    ["0", 0],
    ["0.09", 0],
    ["100000000000000000000000000000", 5],
  ])("with a budget of %s passes %d of 5 requests that cost 0.1 each", async (budget, passing) => {
    const { open, balance } = create();
    const opened = [1, 2, 3, 4, 5].map((id) => open({ id: `req_${id}`, budget }));
    const results = await Promise.allSettled(opened);
    const refusals = results.flatMap((result): unknown[] =>
      result.status === "rejected" ? [result.reason] : [],
    );
    expect(refusals).toMatchObject(Array.from({ length: 5 - passing }, () => REFUSED));
    expect((await balance()).held).toBe(passing === 0 ? "0" : `0.${passing}`);
  });

  it.each(["__proto__", "constructor", "x".repeat(512)])(
    "keeps the accounts of callers apart, whatever their names: %#",
    async (caller) => {
      const { open, balance } = create();
      await open({ id: "req_1", caller, budget: "0.1" });
      await expect(open({ id: "req_2", caller, budget: "0.1" })).rejects.toMatchObject(REFUSED);
      await open({ id: "req_3", caller: "other", budget: "0.1" });
      expect(await balance(caller)).toEqual({ settled: "0", held: "0.1" });
    },
  );

  it("fails with a 503 that may be retried if the ledger fails, and logs it", async () => {
    const { open, logs } = create(() => ({ hold: () => Promise.reject(new Error("unreachable")) }));
    await expect(open()).rejects.toMatchObject({
      code: "gateway_unavailable",
      status: 503,
      retryAfterSeconds: 5,
    });
    expect(logs).toMatchObject([{ requestId: "req_1", err: new Error("unreachable") }]);
  });

  it("leaves no hold behind if the ledger made it and then failed", async () => {
    const { open, balance } = create((own) => ({
      hold: async (made) => {
        await own.hold(made);
        throw new Error("the connection was cut");
      },
    }));
    await expect(open()).rejects.toMatchObject({ code: "gateway_unavailable" });
    await vi.waitFor(async () => expect(await balance()).toEqual({ settled: "0", held: "0" }));
  });

  it("leaves no hold behind if the ledger is unreachable for a while after it made the hold", async () => {
    let isAway = false;
    const { open, holds, balance } = create((own) => ({
      hold: async (made) => {
        await own.hold(made);
        isAway = true;
        throw new Error("the connection was cut");
      },
      release: async (id) => {
        if (isAway) throw new Error("unreachable");
        await own.release(id);
      },
    }));
    await expect(open()).rejects.toMatchObject({ code: "gateway_unavailable" });
    await holds.retryLateWrites();
    expect(await balance()).toEqual({ settled: "0", held: "0.1" });
    isAway = false;
    await holds.retryLateWrites();
    expect(await balance()).toEqual({ settled: "0", held: "0" });
  });
});

describe("ending a hold", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  it.each<[string, (hold: Hold) => Promise<unknown>, object, object]>([
    [
      "settle",
      (hold) => hold.settle(SENT_TO, MADE),
      { state: "settled", isNothingMade: false },
      { held: "0" },
    ],
    [
      "settle, if nothing was made",
      (hold) => hold.settle(SENT_TO, NOTHING_MADE),
      { state: "settled", isNothingMade: true },
      { held: "0", settled: "0" },
    ],
    ["release", (hold) => hold.release(), { state: "released", isNothingMade: true }, { held: "0" }],
    [
      "abandon",
      async (hold) => hold.abandon(),
      { state: "unresolved", isNothingMade: false },
      { held: "0.1", settled: "0" },
    ],
  ])("with %s tells how it ended", async (_name, end, ended, balanceAfter) => {
    const { open, records, balance } = create();
    const hold = await open();
    await end(hold);
    expect(await hold.ended).toEqual(ended);
    expect(await balance()).toMatchObject(balanceAfter);
    expect(await records()).toHaveLength("state" in ended && ended.state === "settled" ? 1 : 0);
  });

  it("ends it once: the first call wins", async () => {
    const { open, records, balance } = create();
    const hold = await open();
    await Promise.all([
      hold.settle(SENT_TO, MADE),
      hold.settle(SENT_TO, { ...MADE, images: 7 }),
      hold.release(),
    ]);
    hold.abandon();
    expect(await hold.ended).toMatchObject({ state: "settled" });
    expect(await records()).toMatchObject([{ images: 1 }]);
    expect(await balance()).toMatchObject({ held: "0" });
  });

  it("ends all open holds when the gateway abandons them, and takes no later outcome", async () => {
    const { open, holds, records } = create();
    const settled = await open({ id: "req_1" });
    const late = await open({ id: "req_2" });
    await settled.settle(SENT_TO, MADE);
    holds.abandonAll();
    await late.settle(SENT_TO, MADE);
    expect(await settled.ended).toMatchObject({ state: "settled" });
    expect(await late.ended).toMatchObject({ state: "unresolved" });
    expect(await records()).toMatchObject([{ id: "req_1" }]);
  });

  it("logs a report of more than the request could make", async () => {
    const { open, logs, records } = create();
    const hold = await open();
    await hold.settle(SENT_TO, { ...MADE, usage: { generated_images: 2 ** 53 - 1 } });
    expect(await records()).toMatchObject([{ usage: { generated_images: 1 } }]);
    expect(logs).toMatchObject([
      { requestId: "req_1", channel: "ark", reportedUsage: { generated_images: 2 ** 53 - 1 } },
    ]);
  });
});

describe("a ledger that fails", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  it.each([0, 2])("that is late is logged once, after %d failures of the ledger", async (failures) => {
    let left = failures;
    const { open, logs } = create(() => ({
      async settle() {
        if (left-- > 0) throw new Error("unreachable");
        return { isLate: true };
      },
    }));
    const hold = await open();
    const settled = hold.settle(SENT_TO, MADE);
    await vi.advanceTimersByTimeAsync(1_000);
    await settled;
    expect(logs).toMatchObject([
      { requestId: "req_1", charge: "0.1", message: expect.stringContaining("after a sweep") },
    ]);
  });

  it("is retried, and the hold ends when the ledger has the record", async () => {
    let settle: Ledger["settle"] | undefined;
    const { open, records, logs } = create((own) => {
      settle = failing(3, async (record) => void (await own.settle(record)));
      return { settle };
    });
    const hold = await open();
    let isOver = false;
    const settled = hold.settle(SENT_TO, MADE).then(() => {
      isOver = true;
      return isOver;
    });
    await vi.advanceTimersByTimeAsync(1_299);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await settled;
    expect(await hold.ended).toMatchObject({ state: "settled" });
    expect(settle).toHaveBeenCalledTimes(4);
    expect(await records()).toHaveLength(1);
    expect(logs).toEqual([]);
  });

  it.each<[string, string, (hold: Hold) => Promise<unknown>, object]>([
    ["a charge", "settled", (hold) => hold.settle(SENT_TO, MADE), { record: { id: "req_1", images: 1 } }],
    ["a failure", "settled", (hold) => hold.settle(SENT_TO, FAILED), { record: { id: "req_1", images: 0 } }],
    ["a release", "released", (hold) => hold.release(), { requestId: "req_1" }],
  ])(
    "for longer than clients wait does not keep the client: %s is logged",
    async (_what, state, end, logged) => {
      const { open, logs, balance } = create((own) => ({
        settle: failing(Infinity, async (record) => void (await own.settle(record))),
        release: failing(Infinity, async (id) => await own.release(id)),
      }));
      const hold = await open();
      const ended = end(hold);
      await vi.advanceTimersByTimeAsync(5_300);
      await ended;
      expect(await hold.ended).toMatchObject({ state });
      expect(logs).toMatchObject([{ ...logged, err: new Error("unreachable") }]);
      expect(await balance()).toMatchObject({ held: "0.1" });
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("after a long time, as one that does not respond, keeps the client no longer than that", async () => {
    let tries = 0;
    const { open, logs } = create(() => ({
      settle: async () => {
        tries++;
        await new Promise((resolve) => {
          setTimeout(resolve, 10_000);
        });
        throw new Error("did not respond");
      },
    }));
    const hold = await open();
    const settled = hold.settle(SENT_TO, MADE);
    await vi.advanceTimersByTimeAsync(10_000);
    await settled;
    expect(tries).toBe(1);
    expect(logs).toMatchObject([{ requestId: "req_1", err: new Error("did not respond") }]);
  });

  it("is asked again until it accepts a late write, and then no more", async () => {
    const { holds, refused, accepted } = await releaseLate(["a", "b"]);
    await holds.retryLateWrites();
    expect(accepted).toEqual([]);
    refused.clear();
    await holds.retryLateWrites();
    await holds.retryLateWrites();
    expect(accepted.toSorted()).toEqual(["a", "b"]);
  });

  it("that never accepts one write gets the others", async () => {
    const { holds, refused, accepted } = await releaseLate(["never", "a", "b"]);
    for (const id of ["a", "b"]) refused.delete(id);
    for (const _ of [1, 2, 3]) await holds.retryLateWrites();
    expect(accepted.toSorted()).toEqual(["a", "b"]);
  });

  it("gets at most 10,000 late writes: the oldest are dropped", async () => {
    const ids = Array.from({ length: 10_001 }, (_, index) => `req_${index}`);
    const { holds, refused, accepted } = await releaseLate(ids);
    refused.clear();
    await holds.retryLateWrites();
    expect(accepted).toHaveLength(10_000);
    expect(accepted).not.toContain("req_0");
  });

  it("gets charges before the releases of holds that may not exist, and keeps the first 1,000 of these releases", async () => {
    let isAway = true;
    const written: string[] = [];
    const write = async (id: string): Promise<void> => {
      if (isAway) throw new Error("unreachable");
      written.push(id);
    };
    const { holds, open } = create((own) => ({
      hold: async (made) =>
        made.id.startsWith("unsure") ? Promise.reject(new Error("cut")) : own.hold(made),
      settle: ({ id }) => write(id),
      release: write,
    }));
    for (let index = 0; index < 1_001; index++) await open({ id: `unsure_${index}` }).catch(() => {});
    const settled = (await open({ id: "charge" })).settle(SENT_TO, MADE);
    await vi.advanceTimersByTimeAsync(5_300);
    await settled;
    isAway = false;
    await holds.retryLateWrites();
    expect(written.slice(0, 2)).toEqual(["charge", "unsure_0"]);
    expect(written).toHaveLength(1_001);
  });
});
