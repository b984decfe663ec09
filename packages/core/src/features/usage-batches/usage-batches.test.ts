import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Delivery } from "../../billing/delivery.js";
import { createMinimalLedger } from "../../billing/minimal-ledger.js";
import type { SettledRecord, UsageRecord } from "../../billing/records.js";
import { composeGateway } from "../../compose.js";
import { seedream } from "../../families/seedream/seedream.js";
import { createTestGateway } from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import { usageBatches } from "./usage-batches-feature.js";

const LEASE_MS = 30_000;

/** The first letter of an id is its caller. */
const recordOf = (id: string): SettledRecord => ({
  state: "settled",
  id,
  time: new Date(0).toISOString(),
  caller: id.slice(0, 1),
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

type Receive = (ids: readonly string[]) => unknown;

interface Process {
  readonly delivery: Delivery;
  /** The ids of each call. */
  readonly sent: readonly (readonly string[])[];
  readonly logs: readonly object[];
}

function openProcess(
  receive: Receive = () => undefined,
  ledger = createMemoryLedger(),
): Process & { readonly settle: (...ids: readonly string[]) => Promise<void> } {
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  const sent: string[][] = [];
  const onUsageBatch = (records: readonly UsageRecord[]): unknown => {
    const ids = records.map(({ id }) => id);
    sent.push(ids);
    return receive(ids);
  };
  const logger = { warn: log, error: log };
  const delivery = usageBatches({ onUsageBatch }).openDelivery?.({ ledger, send: undefined, logger });
  if (delivery === undefined) throw new Error("The feature delivers nothing.");
  const settle = async (...ids: readonly string[]): Promise<void> => {
    for (const id of ids) await ledger.settle(recordOf(id));
  };
  return { delivery, sent, logs, settle };
}

describe("batches of records", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  it("wait for one second, and have all records of this time", async () => {
    const { delivery, sent, settle } = openProcess();
    await settle("a1");
    void delivery.run();
    await vi.advanceTimersByTimeAsync(999);
    await settle("b1", "a2");
    void delivery.run();
    expect(sent).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual([["a1", "b1", "a2"]]);
  });

  it("begin at once when 1,000 records wait, and have at most 1,000", async () => {
    const { delivery, sent, settle } = openProcess();
    const ids = Array.from({ length: 2_500 }, (_, at) => `a${at}`);
    await settle(...ids);
    const runs = ids.slice(0, 999).map(() => delivery.run());
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toEqual([]);
    await Promise.all([...runs, delivery.run()]);
    expect(sent.map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
    expect(sent.flat()).toEqual(ids);
  });

  it("do not become small when a function is slow and records go on coming", async () => {
    const { delivery, sent, settle } = openProcess(async () => await vi.advanceTimersByTimeAsync(0));
    for (let at = 0; at < 30; at++) {
      await settle(`a${at}`);
      void delivery.run();
      await vi.advanceTimersByTimeAsync(100);
    }
    await vi.advanceTimersByTimeAsync(2_000);
    expect(sent.flat()).toHaveLength(30);
    expect(sent.length).toBeLessThanOrEqual(4);
  });

  it("begin at once at the end of the process", async () => {
    const { delivery, sent, settle } = openProcess();
    await settle("a1");
    await delivery.run(true);
    await delivery.stop();
    expect(sent).toEqual([["a1"]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("leave no timer and no promise behind when they are stopped while they wait", async () => {
    const { delivery, sent, settle } = openProcess();
    await settle("a1");
    const run = delivery.run();
    await delivery.stop();
    await run;
    await delivery.run();
    expect(sent).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that were not accepted come again together after the lease, before later records of their callers", async () => {
    let isDown = true;
    const { delivery, sent, logs, settle } = openProcess(() => {
      if (isDown) throw new Error("down");
    });
    await settle("a1", "b1");
    await delivery.run(true);
    isDown = false;
    await settle("a2", "c1");
    await delivery.run(true);
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivery.run(true);
    expect(sent).toEqual([["a1", "b1"], ["c1"], ["a1", "b1", "a2"]]);
    expect(logs).toMatchObject([
      { requestId: "a1", records: 2, message: "onUsageBatch failed; it is called again with these records." },
    ]);
  });

  it("that a function hangs on come again after the lease, in the order of each caller", async () => {
    let calls = 0;
    const { delivery, sent, settle } = openProcess(async () => {
      calls += 1;
      if (calls === 1) await new Promise(() => {});
    });
    await settle("a1");
    void delivery.run(true);
    await vi.advanceTimersByTimeAsync(5_000);
    await settle("a2");
    void delivery.run();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivery.run(true);
    expect(sent).toEqual([["a1"], ["a1", "a2"]]);
  });

  it("end a pass when one was refused, so that a receiver that is down is not called with everything", async () => {
    const { delivery, sent, settle } = openProcess(() => Promise.reject(new Error("down")));
    await settle(...Array.from({ length: 3_000 }, (_, at) => `${"abc"[at % 3]}${at}`));
    await delivery.run(true);
    expect(sent.map(({ length }) => length)).toEqual([1_000]);
  });

  it("of several processes keep the order of each caller while one of them is slow", async () => {
    const ledger = createMemoryLedger();
    const accepted: string[] = [];
    const gate = Promise.withResolvers<void>();
    const slow = openProcess(async (ids) => {
      if (ids.includes("a1")) await gate.promise;
      accepted.push(...ids);
    }, ledger);
    const fast = openProcess((ids) => accepted.push(...ids), ledger);
    await slow.settle("a1");
    void slow.delivery.run(true);
    await vi.advanceTimersByTimeAsync(0);
    await fast.settle("a2", "b1");
    await fast.delivery.run(true);
    expect(accepted).toEqual(["b1"]);
    gate.resolve();
    // A process that has delivered something looks once more.
    await vi.advanceTimersByTimeAsync(1_000);
    expect(accepted).toEqual(["b1", "a1", "a2"]);
  });

  it("are delivered again if the ledger fails after they were accepted", async () => {
    const ledger = createMemoryLedger();
    let failures = 1;
    const { delivery, sent, logs, settle } = openProcess(undefined, {
      ...ledger,
      outbox: {
        ...ledger.outbox,
        done: async (kind, entries) => {
          if (failures-- > 0) throw new Error("unreachable");
          await ledger.outbox.done(kind, entries);
        },
      },
    });
    await ledger.settle(recordOf("a1"));
    await delivery.run(true);
    await settle("a2");
    await delivery.run(true);
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivery.run(true);
    expect(sent).toEqual([["a1"], ["a1", "a2"]]);
    expect(logs).toMatchObject([{ message: "The ledger failed; records are delivered later." }]);
  });
});

const SMALL = {
  models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
  channels: [{ id: "ark", family: "seedream", apiKey: "key" }],
  callers: [{ id: "me", key: "caller-key" }],
};

describe("the option onUsageBatch", () => {
  it("gets the records of requests, and close() delivers those that wait", async () => {
    const sent: (readonly UsageRecord[])[] = [];
    const { gateway, post } = createTestGateway(undefined, {
      onUsage: undefined,
      onUsageBatch: (records) => void sent.push(records),
    });
    await post({ model: "doodle", prompt: "a cat" });
    await post({ model: "doodle", prompt: "a dog" });
    await gateway.close();
    expect(sent.map((records) => records.map(({ state }) => state))).toEqual([["settled", "settled"]]);
  });

  it("is refused beside onUsage, and with a ledger that cannot keep the order", () => {
    const options = { onUsage() {}, onUsageBatch() {}, ledger: createMinimalLedger() };
    expect(() => createTestGateway(undefined, options)).toThrow(
      expect.objectContaining({
        problems: [
          expect.objectContaining({ path: "onUsageBatch", message: expect.stringContaining("onUsage:") }),
          expect.objectContaining({ path: "onUsageBatch", message: expect.stringContaining("leaseInOrder") }),
        ],
      }),
    );
  });

  it.each<[string, object]>([
    ["without an outbox", {}],
    ["beside onUsage", { ledger: createMemoryLedger(), onUsage() {} }],
  ])("is refused by a composed gateway %s", (_what, options) => {
    const features = [usageBatches({ onUsageBatch: () => undefined })];
    expect(() => composeGateway({ ...SMALL, ...options }, { families: [seedream], features })).toThrow(
      "onUsageBatch",
    );
  });
});
