import { beforeEach, describe, expect, it, vi } from "vitest";
import { createMemoryLedger } from "../features/memory-ledger/memory-ledger.js";
import type { Ledger } from "../features/usage/usage-reports.js";
import { createLazyQuery } from "../testing/lazy-query.js";
import { createRecordDelivery, type Delivery } from "./delivery.js";
import type { SettledRecord, UsageRecord } from "./records.js";

const LEASE_MS = 30_000;

const recordOf = (id: string): SettledRecord => ({
  state: "settled",
  id,
  time: new Date(0).toISOString(),
  caller: "me",
  group: "default",
  model: "m",
  upstreamModel: "m",
  channel: "ark",
  operation: "generate",
  status: 200,
  images: 1,
  charge: "1",
  durationMs: 1,
});

interface Opened {
  readonly ledger: Ledger;
  readonly delivery: Delivery;
  readonly logs: readonly object[];
  readonly settle: (...ids: readonly string[]) => Promise<void>;
}

function open(send: ((record: UsageRecord) => unknown) | undefined, changed: Partial<Ledger> = {}): Opened {
  const ledger = { ...createMemoryLedger(), ...changed };
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  const delivery = createRecordDelivery({ ledger, send, logger: { warn: log, error: log } });
  const settle = async (...ids: readonly string[]): Promise<void> => {
    for (const id of ids) await ledger.settle(recordOf(id));
  };
  return { ledger, delivery, logs, settle };
}

/** Whether the work is done in this time and not before. */
async function endsAfter(work: Promise<unknown> | undefined, ms: number): Promise<boolean> {
  let isDone = false;
  void work?.finally(() => {
    isDone = true;
  });
  await vi.advanceTimersByTimeAsync(ms - 1);
  const wasDone = isDone;
  await vi.advanceTimersByTimeAsync(1);
  return !wasDone && isDone;
}

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

describe("records are delivered", () => {
  it("once each, oldest first, in several batches", async () => {
    const sent: string[] = [];
    const { delivery, settle } = open(({ id }) => sent.push(id));
    const ids = Array.from({ length: 350 }, (_, index) => `req_${index}`);
    await settle(...ids);
    await delivery.run();
    await delivery.run();
    expect(sent).toEqual(ids);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("once each if many runs are started at the same time", async () => {
    const sent: string[] = [];
    const { delivery, settle } = open(async ({ id }) => sent.push(id));
    await settle("a", "b");
    await Promise.all(Array.from({ length: 50 }, async () => await delivery.run()));
    expect(sent).toEqual(["a", "b"]);
  });

  it("in the next run if they are stored during a run", async () => {
    const sent: string[] = [];
    const { delivery, settle } = open(async ({ id }) => {
      sent.push(id);
      if (id !== "a") return;
      await settle("b");
      next = delivery.run();
    });
    let next: Promise<void> | undefined;
    await settle("a");
    await delivery.run();
    await next;
    expect(sent).toEqual(["a", "b"]);
  });

  it("and a run resolves although more records keep coming", async () => {
    const { delivery, settle } = open(async () => {
      await settle(`req_${count++}`);
      void delivery.run();
      await new Promise((resolve) => setTimeout(resolve, 10));
    });
    let count = 0;
    await settle("a");
    expect(await endsAfter(delivery.run(), 10)).toBe(true);
    // The pass in progress, and the pass after it.
    expect(await endsAfter(delivery.run(), 20)).toBe(true);
  });

  it("to a function that returns a lazy query of a database library", async () => {
    const inserted: string[] = [];
    const { delivery, settle } = open(({ id }) => createLazyQuery(() => inserted.push(id)));
    await settle("a");
    await delivery.run();
    expect(inserted).toEqual(["a"]);
  });

  it("not at all without onUsage: they stay in the ledger", async () => {
    const { delivery, ledger, settle } = open(undefined);
    await settle("a");
    await delivery.run();
    expect(await ledger.takeUndelivered(10, 1)).toMatchObject([{ id: "a" }]);
  });
});

describe("a record that onUsage fails on", () => {
  it.each<[string, () => unknown]>([
    [
      "throws",
      () => {
        throw new Error("down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("down"))],
  ])("is delivered again after the lease, and does not delay the others: onUsage %s", async (_what, fail) => {
    const sent: string[] = [];
    const { delivery, logs, settle } = open(({ id }) => {
      sent.push(id);
      return id === "b" && sent.length <= 3 ? fail() : undefined;
    });
    await settle("a", "b", "c");
    await delivery.run();
    expect(sent).toEqual(["a", "b", "c"]);
    expect(logs).toMatchObject([{ requestId: "b", message: "onUsage failed; it is called again." }]);

    await vi.advanceTimersByTimeAsync(LEASE_MS - 1);
    await delivery.run();
    expect(sent).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1);
    await delivery.run();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivery.run();
    expect(sent).toEqual(["a", "b", "c", "b"]);
  });

  it("by hanging ends the run after the lease, and is delivered again in the next run", async () => {
    const sent: string[] = [];
    const { delivery, logs, settle } = open(({ id }) => {
      sent.push(id);
      return sent.length === 1 ? new Promise(() => {}) : undefined;
    });
    await settle("a");
    expect(await endsAfter(delivery.run(), LEASE_MS)).toBe(true);
    expect(logs).toMatchObject([{ requestId: "a" }]);
    expect(vi.getTimerCount()).toBe(0);

    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivery.run();
    expect(sent).toEqual(["a", "a"]);
  });

  it("by hanging forever does not delay the other records forever", async () => {
    const sent: string[] = [];
    const { delivery, settle } = open(({ id }) => {
      sent.push(id);
      return id === "hangs" ? new Promise(() => {}) : undefined;
    });
    await settle("a", "hangs", "b");
    expect(await endsAfter(delivery.run(), LEASE_MS)).toBe(true);
    await settle("c");
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(await endsAfter(delivery.run(), LEASE_MS)).toBe(true);
    expect(sent).toEqual(["a", "hangs", "b", "hangs", "c"]);
  });
});

describe("a ledger that fails", () => {
  it("is logged, and the records are delivered by the next run", async () => {
    const sent: string[] = [];
    const own = createMemoryLedger();
    let isDown = true;
    const { delivery, logs } = open(({ id }) => sent.push(id), {
      ...own,
      takeUndelivered: async (...given) => {
        if (isDown) throw new Error("unreachable");
        return own.takeUndelivered(...given);
      },
    });
    await own.settle(recordOf("a"));
    await delivery.run();
    expect(sent).toEqual([]);
    expect(logs).toMatchObject([{ message: "The ledger failed; records are delivered later." }]);
    isDown = false;
    await delivery.run();
    expect(sent).toEqual(["a"]);
  });

  it("after onUsage accepted a record causes a second delivery", async () => {
    const sent: string[] = [];
    const own = createMemoryLedger();
    let failures = 1;
    const { delivery } = open(({ id }) => sent.push(id), {
      ...own,
      markDelivered: async (records) => {
        if (failures-- > 0) throw new Error("unreachable");
        await own.markDelivered(records);
      },
    });
    await own.settle(recordOf("a"));
    await delivery.run();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivery.run();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivery.run();
    expect(sent).toEqual(["a", "a"]);
  });

  it("takes no record after it was stopped, and stops when the records that it took were tried", async () => {
    const sent: string[] = [];
    const gate = Promise.withResolvers<void>();
    const { delivery, settle, ledger, logs } = open(async ({ id }) => {
      sent.push(id);
      await gate.promise;
    });
    await settle("a");
    const first = delivery.run();
    await vi.waitFor(() => expect(sent).toEqual(["a"]));
    await settle("b");
    const second = delivery.run();
    const stopped = delivery.stop();
    const ended: string[] = [];
    void stopped.finally(() => ended.push("stopped"));
    await vi.advanceTimersByTimeAsync(10);
    expect(ended).toEqual([]);
    gate.resolve();
    await Promise.all([first, second, stopped, delivery.run()]);
    expect({ sent, logs }).toEqual({ sent: ["a"], logs: [] });
    expect(await ledger.takeUndelivered(10, LEASE_MS)).toMatchObject([{ id: "b" }]);
  });
});
