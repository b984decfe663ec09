import { beforeEach, describe, expect, it, vi } from "vitest";
import { answerLater } from "../testing/later-ledger.js";
import { createLazyQuery } from "../testing/lazy-query.js";
import { createDelivery, type Delivery } from "./delivery.js";
import type { Ledger } from "./ledger.js";
import { createMemoryLedger } from "./memory-ledger.js";
import type { SettledRecord, UsageRecord } from "./usage-record.js";

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

/** A ledger that answers at once, and one that answers later. */
const LEDGERS = [
  { answers: "at once", createLedger: createMemoryLedger },
  { answers: "later", createLedger: () => answerLater(createMemoryLedger()) },
];

let createLedger = createMemoryLedger;

function open(send: ((record: UsageRecord) => unknown) | undefined, changed: Partial<Ledger> = {}): Opened {
  const ledger = { ...createLedger(), ...changed };
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  const delivery = createDelivery({ ledger, send, logger: { warn: log, error: log } });
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

describe.each(LEDGERS)("with a ledger that answers $answers", (kind) => {
  beforeEach(() => {
    createLedger = kind.createLedger;
  });

  describe("records are delivered", () => {
    it("each once, the oldest first, however many wait", async () => {
      const sent: string[] = [];
      const { delivery, settle } = open(({ id }) => sent.push(id));
      const ids = Array.from({ length: 350 }, (_, index) => `req_${index}`);
      await settle(...ids);
      await delivery.run();
      await delivery.run();
      expect(sent).toEqual(ids);
      expect(vi.getTimerCount()).toBe(0);
    });

    it("once though the delivery is asked for many times at once", async () => {
      const sent: string[] = [];
      const { delivery, settle } = open(async ({ id }) => sent.push(id));
      await settle("a", "b");
      await Promise.all(Array.from({ length: 50 }, async () => await delivery.run()));
      expect(sent).toEqual(["a", "b"]);
    });

    it("in the next run where they come while one goes on", async () => {
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

    it("and whoever asked is told, though more and more records come", async () => {
      const { delivery, settle } = open(async () => {
        await settle(`req_${count++}`);
        void delivery.run();
        await new Promise((resolve) => setTimeout(resolve, 10));
      });
      let count = 0;
      await settle("a");
      expect(await endsAfter(delivery.run(), 10)).toBe(true);
      // The pass under way, and the one after it.
      expect(await endsAfter(delivery.run(), 20)).toBe(true);
    });

    it("to a function that hands back a query of a database library, which runs once it is waited for", async () => {
      const inserted: string[] = [];
      const { delivery, settle } = open(({ id }) => createLazyQuery(() => inserted.push(id)));
      await settle("a");
      await delivery.run();
      expect(inserted).toEqual(["a"]);
    });

    it("to nobody without a function, and wait", async () => {
      const { delivery, ledger, settle } = open(undefined);
      await settle("a");
      await delivery.run();
      expect(await ledger.takeUndelivered(10, 1)).toMatchObject([{ id: "a" }]);
    });
  });

  describe("a record that the function does not take", () => {
    it.each<[string, () => unknown]>([
      [
        "throws",
        () => {
          throw new Error("down");
        },
      ],
      ["rejects", () => Promise.reject(new Error("down"))],
    ])(
      "comes again after the lease, and the others are not held up: the function %s",
      async (_what, fail) => {
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
      },
    );

    it("since it hangs ends the run after the lease, and comes again in the next one", async () => {
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

    it("since it hangs for ever holds nobody for ever, with others beside it", async () => {
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
    it("is logged, and the records come with the next run", async () => {
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

    it("after the function took a record makes it come twice rather than never", async () => {
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
  });
});

it("before the run returns where ledger and function answer at once", async () => {
  createLedger = createMemoryLedger;
  const sent: string[] = [];
  const { delivery, settle } = open(({ id }) => void sent.push(id));
  await settle("a", "b");
  expect(delivery.run()).toBeUndefined();
  expect(sent).toEqual(["a", "b"]);
});
