import { beforeEach, describe, expect, it, vi } from "vitest";
import { createRecordDelivery } from "../billing/delivery.js";
import { createHolds, type Hold } from "../billing/hold.js";
import { createPriceList } from "../billing/pricing.js";
import type { UsageRecord } from "../billing/records.js";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import type { Ledger } from "../features/usage/usage-reports.js";
import type { Transport } from "../upstream/transport.js";
import { createMaintenance, createTracker, shutDown } from "./lifecycle.js";

const MADE = { status: 200, images: 1 };
const SENT_TO = { channel: "ark", upstreamModel: "m", attempts: [] };

function refuse(): never {
  throw new Error("Nothing is sent here.");
}

interface Settings {
  readonly send?: (record: UsageRecord) => unknown;
  readonly ledger?: Partial<Ledger>;
  readonly isAbortable?: boolean;
}

function open({ send, ledger: changed = {}, isAbortable = true }: Settings = {}) {
  const ledger = { ...createMemoryLedger(), ...changed };
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  const logger = { warn: log, error: log };
  const steps: string[] = [];
  const delivery = createRecordDelivery({
    ledger,
    logger,
    send:
      send ??
      (({ id, state }) => {
        steps.push(`${id} is ${state}`);
      }),
  });
  const tracker = createTracker();
  const transport: Transport = {
    send: refuse,
    download: refuse,
    close: async () => void steps.push("connections end"),
    ...(isAbortable && { abort: async () => void steps.push("connections are cut") }),
  };
  const holds = createHolds({ ledger, logger, onLost: "release", now: Date.now });
  const done: string[] = [];
  const note = (name: string) => async (): Promise<void> => void done.push(name);
  const chores = [{ stop: note("stop"), sweep: note("sweep"), idle: note("idle"), finish: note("finish") }];
  const parts = { ledger, delivery, holds, logger, chores, onLost: "charge" } as const;
  const maintenance = createMaintenance(parts);
  const begin = async (id: string): Promise<Hold> => {
    const hold = await holds.open(
      {
        id,
        receivedAt: Date.now(),
        time: new Date().toISOString(),
        caller: "me",
        group: "default",
        model: "m",
        operation: "generate",
        bounds: { maxImages: 5 },
        price: createPriceList({
          model_details: { m: { pricing_mode: "per-request", model_price: "1" } },
        }).find("m", "default"),
      },
      { ttlMs: 3_600_000, keepAlive: () => {} },
    );
    tracker.track(hold.ended);
    return hold;
  };
  const close = (deadlineMs = Infinity): Promise<void> =>
    shutDown({ ...parts, tracker, maintenance, transport }, deadlineMs).then(() => void steps.push("closed"));
  return { begin, close, steps, done, logs, ledger, tracker };
}

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

describe("a gateway that closes", () => {
  it.each([undefined, 1_000, Infinity, 2 ** 40])(
    "waits for requests in progress, delivers their records and ends the connections: deadline %s",
    async (deadline) => {
      const { begin, close, steps, logs } = open();
      const hold = await begin("req_1");
      const closed = close(deadline);
      await vi.advanceTimersByTimeAsync(999);
      expect(steps).toEqual([]);
      await hold.settle(SENT_TO, MADE);
      await closed;
      expect(steps).toEqual(["req_1 is settled", "connections end", "closed"]);
      expect(logs).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it("waits for as long as it takes without a deadline", async () => {
    const { begin, close, steps } = open();
    const hold = await begin("req_1");
    const closed = close();
    await vi.advanceTimersByTimeAsync(100_000_000);
    expect(steps).toEqual([]);
    await hold.settle(SENT_TO, MADE);
    await closed;
  });

  it("retries writes that the ledger did not accept before, and makes no unresolved records of them", async () => {
    const own = createMemoryLedger();
    let failures = 5;
    const release: Ledger["release"] = async (id) => {
      if (failures-- > 0) throw new Error("down");
      await own.release(id);
    };
    const { begin, close, steps, ledger } = open({ ledger: { ...own, release } });
    const [late] = [await begin("req_1"), await begin("req_2")];
    const released = late.release();
    await vi.advanceTimersByTimeAsync(5_300);
    await released;
    const closed = close(1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    await closed;
    expect(steps).toEqual(["connections are cut", "req_2 is unresolved", "closed"]);
    expect(await ledger.balance("me")).toEqual({ settled: "5", held: "0" });
  });

  it("ends at once if no request is in progress", async () => {
    const { close, steps } = open();
    await close(0);
    expect(steps).toEqual(["connections end", "closed"]);
  });

  it.each([0, 5_000])(
    "cuts off the requests that are not done by a deadline of %d ms, and abandons their holds",
    async (deadline) => {
      const { begin, close, steps, done: chores, logs, ledger } = open();
      const done = await begin("req_1");
      const late = await begin("req_2");
      const closed = close(deadline);
      await done.settle(SENT_TO, MADE);
      await vi.advanceTimersByTimeAsync(deadline);
      await closed;
      expect(steps).toEqual(["connections are cut", "req_1 is settled", "req_2 is unresolved", "closed"]);
      expect(logs).toMatchObject([{ requestIds: ["req_2"], onLost: "charge" }]);
      expect(chores).toEqual(["stop", "sweep", "finish", "idle"]);
      await late.settle(SENT_TO, MADE);
      expect(await ledger.balance("me")).toEqual({ settled: "6", held: "0" });
    },
  );

  it("ends although the transport cannot cut connections", async () => {
    const { begin, close, steps } = open({ isAbortable: false });
    await begin("req_1");
    const closed = close(10);
    await vi.advanceTimersByTimeAsync(10);
    await closed;
    expect(steps).toEqual(["req_1 is unresolved", "closed"]);
  });

  it("ends although onUsage never returns", async () => {
    const { begin, close, steps } = open({ send: () => new Promise(() => {}) });
    const hold = await begin("req_1");
    await hold.settle(SENT_TO, MADE);
    const closed = close();
    await vi.advanceTimersByTimeAsync(60_000);
    await closed;
    expect(steps).toEqual(["connections end", "closed"]);
  });

  it("cuts off the requests of abandoned holds before it waits for anything else", async () => {
    const { begin, close, steps } = open({
      send: () => new Promise(() => {}),
      ledger: { sweep: () => new Promise(() => {}) },
    });
    const done = await begin("req_1");
    await begin("req_2");
    await done.settle(SENT_TO, MADE);
    void close(10);
    await vi.advanceTimersByTimeAsync(10);
    expect(steps).toEqual(["connections are cut"]);
  });

  it.each([
    ["three seconds after a deadline that has passed", 10, 3_010],
    ["until a deadline that is further away", 5_000, 5_000],
  ])("gives an onUsage that hangs %s", async (_what, deadline, end) => {
    const { begin, close, steps, logs } = open({ send: () => new Promise(() => {}) });
    const hold = await begin("req_1");
    if (end > deadline) await begin("req_2");
    await hold.settle(SENT_TO, MADE);
    const closed = close(deadline);
    await vi.advanceTimersByTimeAsync(end - 1);
    expect(steps).not.toContain("closed");
    await vi.advanceTimersByTimeAsync(1);
    await closed;
    expect(logs.at(-1)).toMatchObject({
      message: "Not all records were delivered before the gateway had to end.",
    });
  });

  it("ends although the ledger cannot be swept", async () => {
    const { begin, close, steps, logs } = open({
      ledger: { sweep: () => Promise.reject(new Error("unreachable")) },
    });
    await begin("req_1");
    const closed = close(10);
    await vi.advanceTimersByTimeAsync(10);
    await closed;
    expect(logs).toMatchObject([{ err: new Error("unreachable") }]);
    expect(steps).toEqual(["connections are cut", "closed"]);
  });
});
