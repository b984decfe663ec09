import { beforeEach, describe, expect, it, vi } from "vitest";
import { createRecordDelivery } from "../billing/delivery.js";
import { createHolds } from "../billing/hold.js";
import type { EntryFailure } from "../billing/ledger.js";
import type { HoldRecord } from "../billing/records.js";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import type { Ledger } from "../features/usage/usage-reports.js";
import { createMaintenance, type MaintenanceParts } from "./lifecycle.js";

const INTERVAL_MS = 10_000;

const holdOf = (id: string, ttlMs: number): HoldRecord => ({
  id,
  time: new Date(0).toISOString(),
  caller: "me",
  group: "default",
  model: "m",
  operation: "generate",
  amount: "5",
  ttlMs,
});

function open(
  changed: (own: Ledger) => Partial<Ledger> = () => ({}),
  more: Pick<MaintenanceParts, "chores"> = { chores: [] },
  repeat?: Parameters<typeof createMaintenance>[1],
) {
  const own = createMemoryLedger();
  const ledger = { ...own, ...changed(own) };
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  const logger = { warn: log, error: log };
  const sent: object[] = [];
  const delivery = createRecordDelivery({ ledger, send: (record) => sent.push(record), logger });
  const holds = createHolds({ ledger, logger, onLost: "charge", now: Date.now });
  const parts = { ledger, delivery, holds, onLost: "charge", logger, ...more } as const;
  const maintenance = createMaintenance(parts, repeat);
  return { maintenance, own, logs, sent };
}

const damaged = (id: string): EntryFailure => ({ id, error: new Error("damaged") });

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

describe("maintenance", () => {
  it("begins again with a later request if its timer has ended, as timers of a request do on Workers", async () => {
    const ended = Promise.withResolvers<void>();
    let sweeps = 0;
    const { maintenance } = open((own) => ({
      sweep: async (options) => {
        sweeps++;
        // The promise of the first request never resolves after the request has ended.
        if (sweeps === 1) await ended.promise;
        return own.sweep(options);
      },
    }));
    maintenance.start();
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    maintenance.start();
    await vi.advanceTimersByTimeAsync(3 * INTERVAL_MS);
    expect(sweeps).toBe(1);

    maintenance.start();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(sweeps).toBe(3);
    maintenance.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(sweeps).toBe(3);

    ended.resolve();
    await maintenance.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends holds of lost requests, logs a line, and delivers their records", async () => {
    const { maintenance, own, logs, sent } = open();
    await own.hold(holdOf("req_1", INTERVAL_MS + 1));
    await own.hold(holdOf("req_2", 3_600_000));
    maintenance.start();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(sent).toMatchObject([{ id: "req_1", state: "unresolved", charge: "5" }]);
    expect(logs).toMatchObject([{ requestIds: ["req_1"], onLost: "charge" }]);
    expect(await own.balance("me")).toEqual({ settled: "5", held: "5" });
    await maintenance.stop();
  });

  it("is repeated by whatever is given for it, until the stop", async () => {
    const sweep = vi.fn<Ledger["sweep"]>(async () => []);
    const repeated: { work: () => void; everyMs: number }[] = [];
    const end = vi.fn<() => void>();
    const repeat = (work: () => void, everyMs: number): (() => void) => {
      repeated.push({ work, everyMs });
      return end;
    };
    const { maintenance } = open(() => ({ sweep }), undefined, repeat);
    maintenance.start();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(sweep).toHaveBeenCalledTimes(1);
    expect(repeated).toMatchObject([{ everyMs: INTERVAL_MS }]);
    repeated[0]?.work();
    await maintenance.stop();
    expect(sweep).toHaveBeenCalledTimes(2);
    expect(end).toHaveBeenCalledTimes(1);
  });

  it("begins once, with the first start, and ends with the stop", async () => {
    const sweep = vi.fn<Ledger["sweep"]>(async () => []);
    const { maintenance } = open(() => ({ sweep }));
    expect(vi.getTimerCount()).toBe(0);
    maintenance.start();
    maintenance.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(sweep).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(sweep).toHaveBeenCalledTimes(2);
    await maintenance.stop();
    await vi.advanceTimersByTimeAsync(10 * INTERVAL_MS);
    expect(sweep).toHaveBeenCalledTimes(2);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does a chore again only after its last promise has ended", async () => {
    const reply = Promise.withResolvers<void>();
    const begin = vi.fn<() => Promise<void>>(() => reply.promise);
    const { maintenance } = open(() => ({}), { chores: [{ begin }] });
    maintenance.start();
    await vi.advanceTimersByTimeAsync(3 * INTERVAL_MS);
    expect(begin).toHaveBeenCalledTimes(1);
    reply.resolve();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(begin).toHaveBeenCalledTimes(2);
    await maintenance.stop();
  });

  it("stops before it began", async () => {
    await expect(open().maintenance.stop()).resolves.toBeUndefined();
  });

  it("does not start again while a slow ledger is swept, and has ended when `stop` resolves", async () => {
    const slow = Promise.withResolvers<readonly never[]>();
    const sweep = vi.fn<Ledger["sweep"]>(() => slow.promise);
    const { maintenance } = open(() => ({ sweep }));
    maintenance.start();
    await vi.advanceTimersByTimeAsync(5 * INTERVAL_MS);
    expect(sweep).toHaveBeenCalledTimes(1);
    const order: string[] = [];
    const stopped = maintenance.stop().then(() => order.push("stopped"));
    await vi.advanceTimersByTimeAsync(0);
    order.push("swept");
    slow.resolve([]);
    await stopped;
    expect(order).toEqual(["swept", "stopped"]);
  });

  it("delivers records although the ledger cannot be swept", async () => {
    const { maintenance, own, logs, sent } = open(() => ({
      sweep: async () => {
        throw new Error("locked");
      },
    }));
    await own.hold(holdOf("req_1", 0));
    await own.sweep({ onLost: "charge" });
    maintenance.start();
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toMatchObject([{ id: "req_1" }]);
    expect(logs).toMatchObject([{ err: new Error("locked") }]);
    await maintenance.stop();
  });

  it("reports a hold that cannot be ended once, and a record that cannot be read once", async () => {
    const { maintenance, own, logs, sent } = open((ledger) => ({
      sweep: async (options) => {
        options.onFailure?.(damaged("hold"));
        return await ledger.sweep(options);
      },
      takeUndelivered: (limit, leaseMs, onUnreadable) => {
        onUnreadable?.(damaged("record"));
        return ledger.takeUndelivered(limit, leaseMs);
      },
    }));
    await own.hold(holdOf("req_1", 0));
    maintenance.start();
    await vi.advanceTimersByTimeAsync(3 * INTERVAL_MS);
    expect(logs).toMatchObject([
      { requestId: "hold", err: new Error("damaged") },
      { requestIds: ["req_1"] },
      { requestId: "record", err: new Error("damaged") },
    ]);
    expect(sent).toMatchObject([{ id: "req_1" }]);
    await maintenance.stop();
  });

  it("goes on after a ledger that failed", async () => {
    let failures = 1;
    const { maintenance, own, logs, sent } = open((ledger) => ({
      sweep: async (options) => {
        if (failures-- > 0) throw new Error("unreachable");
        return ledger.sweep(options);
      },
    }));
    await own.hold(holdOf("req_1", 0));
    maintenance.start();
    await vi.advanceTimersByTimeAsync(INTERVAL_MS);
    expect(logs).toMatchObject([{ err: new Error("unreachable") }, { requestIds: ["req_1"] }]);
    expect(sent).toMatchObject([{ id: "req_1" }]);
    await maintenance.stop();
  });
});
