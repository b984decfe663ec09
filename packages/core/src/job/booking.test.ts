import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Ledger } from "../billing/ledger.js";
import { createMemoryLedger } from "../billing/memory-ledger.js";
import type { Order } from "../billing/settled-record.js";
import { createLinkedList } from "../linked-list.js";
import { answerLater } from "../testing/later-ledger.js";
import { type Booking, openBooking } from "./booking.js";
import { createLateWrites } from "./late-writes.js";

const ORDER: Order = {
  id: "req_1",
  receivedAt: Date.UTC(2026, 10, 21),
  time: "2026-11-21T00:00:00.000Z",
  caller: "me",
  group: "default",
  model: "m",
  operation: "generate",
  bounds: { maxImages: 1 },
  price: undefined,
};
const SENT_TO = { channel: "ark", upstreamModel: "m", attempts: [] };
const MADE = { status: 200, images: 1 };
const FAILED = { status: 502, images: 0, errorCode: "upstream_error" };

async function open(changed: (own: Ledger) => Partial<Ledger> = () => ({})) {
  const own = createMemoryLedger();
  const ledger = { ...own, ...changed(own) };
  const openBookings = createLinkedList<Booking>();
  const logs: object[] = [];
  const log = (fields: object, message: string): void => void logs.push({ ...fields, message });
  await own.hold({
    id: ORDER.id,
    time: ORDER.time,
    caller: "me",
    group: "default",
    model: "m",
    operation: "generate",
    amount: "5",
    ttlMs: 3_600_000,
  });
  const now = (): number => ORDER.receivedAt + 100;
  const booking = openBooking(
    {
      ledger,
      logger: { warn: log, error: log },
      openBookings,
      lateWrites: createLateWrites(),
      onLost: "release",
      now,
    },
    ORDER,
  );
  const records = async (): Promise<readonly object[]> => {
    const found: object[] = [];
    for await (const record of own.records()) found.push(record);
    return found;
  };
  return { booking, openBookings, logs, records, balance: () => own.balance("me") };
}

/** A method that fails so many times, then does what it should. */
function failing<Given>(times: number, method: (given: Given) => Promise<void>) {
  let left = times;
  return vi.fn<(given: Given) => Promise<void>>(async (given) => {
    if (left-- > 0) throw new Error("unreachable");
    await method(given);
  });
}

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

describe("the books of a job", () => {
  it.each<[string, (booking: Booking) => Promise<void> | undefined, string, readonly object[]]>([
    ["settled", (booking) => booking.settle(SENT_TO, MADE), "0", [{ state: "settled", images: 1 }]],
    ["refused", (booking) => booking.refuse(SENT_TO, FAILED), "0", [{ state: "settled", status: 502 }]],
    ["released", (booking) => booking.release(), "0", []],
    ["lost", async (booking) => booking.lose(), "5", []],
  ])("are %s, and then closed", async (end, close, held, expected) => {
    const { booking, openBookings, records, balance } = await open();
    expect([...openBookings]).toEqual([booking]);
    await close(booking);
    expect(await booking.ended).toBe(end);
    expect([...openBookings]).toEqual([]);
    expect(await records()).toMatchObject(expected);
    expect(await balance()).toMatchObject({ held });
  });

  it("are closed at once by a ledger that answers at once", async () => {
    const { booking, openBookings, records } = await open();
    const { ended } = booking;
    expect(booking.settle(SENT_TO, MADE)).toBeUndefined();
    expect(booking.ended).toBe("settled");
    expect([...openBookings]).toEqual([]);
    expect(await ended).toBe("settled");
    expect(await records()).toHaveLength(1);
  });

  it.each([
    ["at once", (own: Ledger) => own],
    ["later", answerLater],
  ])("are closed once, by whoever comes first: the ledger answers %s", async (_when, change) => {
    const { booking, records, balance } = await open(change);
    await Promise.all([
      booking.settle(SENT_TO, MADE),
      booking.settle(SENT_TO, { ...MADE, images: 7 }),
      booking.release(),
      booking.refuse(SENT_TO, FAILED),
    ]);
    booking.lose();
    expect(await booking.ended).toBe("settled");
    expect(await records()).toMatchObject([{ images: 1 }]);
    expect(await balance()).toMatchObject({ held: "0" });
  });

  it("tell the operator of a report of more than the request could make", async () => {
    const { booking, logs, records } = await open();
    await booking.settle(SENT_TO, { ...MADE, usage: { generated_images: 2 ** 53 - 1 } });
    expect(await records()).toMatchObject([{ usage: { generated_images: 1 } }]);
    expect(logs).toMatchObject([
      { requestId: "req_1", channel: "ark", reportedUsage: { generated_images: 2 ** 53 - 1 } },
    ]);
  });

  it("that are lost take no late end", async () => {
    const { booking, records } = await open();
    booking.lose();
    await booking.settle(SENT_TO, MADE);
    expect(await booking.ended).toBe("lost");
    expect(await records()).toEqual([]);
  });
});

describe("a ledger that fails", () => {
  it("is asked again, and the end is told only when it has the record", async () => {
    let settle: Ledger["settle"] | undefined;
    const { booking, records, logs } = await open((own) => {
      settle = failing(3, async (record) => await own.settle(record));
      return { settle };
    });
    let isOver = false;
    const settled = booking.settle(SENT_TO, MADE)?.then(() => {
      isOver = true;
      return isOver;
    });
    await vi.advanceTimersByTimeAsync(1_299);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await settled;
    expect(await booking.ended).toBe("settled");
    expect(settle).toHaveBeenCalledTimes(4);
    expect(await records()).toHaveLength(1);
    expect(logs).toEqual([]);
  });

  it.each<[string, string, (booking: Booking) => Promise<void> | undefined, object]>([
    [
      "a charge",
      "settled",
      (booking) => booking.settle(SENT_TO, MADE),
      { record: { id: "req_1", images: 1 } },
    ],
    [
      "a refusal",
      "refused",
      (booking) => booking.refuse(SENT_TO, FAILED),
      { record: { id: "req_1", images: 0 } },
    ],
    ["a release", "released", (booking) => booking.release(), { requestId: "req_1" }],
  ])(
    "for longer than a client waits costs it nothing: %s is logged, and the hold is left",
    async (_what, end, close, logged) => {
      const { booking, logs, balance, openBookings } = await open((own) => ({
        settle: failing(Infinity, async (record) => await own.settle(record)),
        release: failing(Infinity, async (id) => await own.release(id)),
      }));
      const closed = close(booking);
      await vi.advanceTimersByTimeAsync(5_300);
      await closed;
      expect(await booking.ended).toBe(end);
      expect(logs).toMatchObject([{ ...logged, err: new Error("unreachable") }]);
      expect(await balance()).toMatchObject({ held: "5" });
      expect([...openBookings]).toEqual([]);
      expect(vi.getTimerCount()).toBe(0);
    },
  );
});
