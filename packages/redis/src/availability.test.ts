import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { AwayError, createAvailability } from "./availability.js";

const DEADLINE_MS = 100;
const REFUSED = new Error("connect ECONNREFUSED");

function open(deadlineMs = DEADLINE_MS) {
  const told: string[] = [];
  const availability = createAvailability({
    deadlineMs,
    onLost: (error) => void told.push(`lost: ${error instanceof Error ? error.message : ""}`),
    onBack: () => void told.push("back"),
  });
  return { availability, told };
}

const neverSent = { send: () => new Promise<never>(() => undefined), probe: () => Promise.reject(REFUSED) };

const succeed = async (): Promise<void> => undefined;

describe("createAvailability", () => {
  it("gives up a call at the deadline, and reports a late result", async () => {
    const { availability, told } = open();
    const reply = Promise.withResolvers<string>();
    const late: string[] = [];
    const asked = availability.call({
      ...neverSent,
      send: () => reply.promise,
      onLate: (result) => late.push(result),
    });
    await expect(asked).rejects.toThrow(AwayError);
    expect(told).toEqual(["lost: Redis did not reply within 100 ms."]);
    reply.resolve("taken");
    await expect.poll(() => late).toEqual(["taken"]);
  });

  it("sends only one probe at a time while Redis is away, and is back after the first success", async () => {
    const { availability, told } = open();
    let probes = 0;
    let isThere = false;
    const first = Promise.withResolvers<void>();
    const probe = async (): Promise<void> => {
      probes++;
      if (probes === 1) return await first.promise;
      if (!isThere) throw REFUSED;
    };
    await expect(availability.call({ send: () => Promise.reject(REFUSED), probe })).rejects.toThrow(
      AwayError,
    );
    const sent: string[] = [];
    await expect(availability.call({ send: async () => sent.push("a call"), probe })).rejects.toThrow(
      AwayError,
    );
    expect([sent, told]).toEqual([[], ["lost: connect ECONNREFUSED"]]);
    await sleep(700);
    expect(probes).toBe(1);
    first.reject(REFUSED);
    await expect.poll(() => probes).toBeGreaterThan(2);
    isThere = true;
    await expect.poll(() => told.at(-1)).toBe("back");
    expect(await availability.call({ send: async () => "sent", probe })).toBe("sent");
  });

  it("ignores the failure of a call that was sent before Redis came back", async () => {
    const { availability, told } = open(10_000);
    const old = Promise.withResolvers<never>();
    const asked = availability
      .call({ send: () => old.promise, probe: succeed })
      .catch((error: unknown) => error);
    const send = () => Promise.reject(REFUSED);
    await expect(availability.call({ send, probe: succeed })).rejects.toThrow(AwayError);
    await expect.poll(() => told).toEqual(["lost: connect ECONNREFUSED", "back"]);
    old.reject(REFUSED);
    expect(await asked).toBeInstanceOf(AwayError);
    expect([availability.isAway, told.length]).toEqual([false, 2]);
  });

  it.each(["ERR no such command", "WRONGTYPE Operation against a key", "CROSSSLOT Keys"])(
    "stays available after the error %j",
    async (message) => {
      const { availability, told } = open();
      const error = new Error(message);
      await expect(
        availability.call({ send: () => Promise.reject(error), probe: neverSent.probe }),
      ).rejects.toBe(error);
      expect([availability.isAway, told]).toEqual([false, []]);
    },
  );

  it.each([
    "LOADING Redis is loading",
    "READONLY You can't write",
    "OOM command not allowed",
    "NOAUTH Authentication",
  ])("is away after the error %j", async (message) => {
    const { availability } = open();
    const send = () => Promise.reject(new Error(message));
    await expect(availability.call({ send, probe: neverSent.probe })).rejects.toThrow(AwayError);
    expect(availability.isAway).toBe(true);
  });
});
