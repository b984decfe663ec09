import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { AwayError, createReach } from "./reach.js";

const DEADLINE_MS = 100;
const REFUSED = new Error("connect ECONNREFUSED");

function open(deadlineMs = DEADLINE_MS) {
  const told: string[] = [];
  const reach = createReach({
    deadlineMs,
    onLost: (error) => void told.push(`lost: ${error instanceof Error ? error.message : ""}`),
    onBack: () => void told.push("back"),
  });
  return { reach, told };
}

const neverSent = { send: () => new Promise<never>(() => undefined), probe: () => Promise.reject(REFUSED) };

const succeed = async (): Promise<void> => undefined;

describe("createReach", () => {
  it("gives up what is not answered in time, and tells what came of it later", async () => {
    const { reach, told } = open();
    const answer = Promise.withResolvers<string>();
    const late: string[] = [];
    const asked = reach.ask({
      ...neverSent,
      send: () => answer.promise,
      onLate: (result) => late.push(result),
    });
    await expect(asked).rejects.toThrow(AwayError);
    expect(told).toEqual(["lost: Redis did not answer within 100 ms."]);
    answer.resolve("taken");
    await expect.poll(() => late).toEqual(["taken"]);
  });

  it("sends nothing but one probe at a time while it is away, and is back with the first that succeeds", async () => {
    const { reach, told } = open();
    let probes = 0;
    let isThere = false;
    const first = Promise.withResolvers<void>();
    const probe = async (): Promise<void> => {
      probes++;
      if (probes === 1) return await first.promise;
      if (!isThere) throw REFUSED;
    };
    await expect(reach.ask({ send: () => Promise.reject(REFUSED), probe })).rejects.toThrow(AwayError);
    const sent: string[] = [];
    await expect(reach.ask({ send: async () => sent.push("a call"), probe })).rejects.toThrow(AwayError);
    expect([sent, told]).toEqual([[], ["lost: connect ECONNREFUSED"]]);
    await sleep(700);
    expect(probes).toBe(1);
    first.reject(REFUSED);
    await expect.poll(() => probes).toBeGreaterThan(2);
    isThere = true;
    await expect.poll(() => told.at(-1)).toBe("back");
    expect(await reach.ask({ send: async () => "sent", probe })).toBe("sent");
  });

  it("is not lost again by a call from before, which fails when it is back", async () => {
    const { reach, told } = open(10_000);
    const old = Promise.withResolvers<never>();
    const asked = reach.ask({ send: () => old.promise, probe: succeed }).catch((error: unknown) => error);
    const send = () => Promise.reject(REFUSED);
    await expect(reach.ask({ send, probe: succeed })).rejects.toThrow(AwayError);
    await expect.poll(() => told).toEqual(["lost: connect ECONNREFUSED", "back"]);
    old.reject(REFUSED);
    expect(await asked).toBeInstanceOf(AwayError);
    expect([reach.isAway, told.length]).toEqual([false, 2]);
  });

  it.each(["ERR no such command", "WRONGTYPE Operation against a key", "CROSSSLOT Keys"])(
    "is there when it answers %j",
    async (message) => {
      const { reach, told } = open();
      const error = new Error(message);
      await expect(reach.ask({ send: () => Promise.reject(error), probe: neverSent.probe })).rejects.toBe(
        error,
      );
      expect([reach.isAway, told]).toEqual([false, []]);
    },
  );

  it.each([
    "LOADING Redis is loading",
    "READONLY You can't write",
    "OOM command not allowed",
    "NOAUTH Authentication",
  ])("is away when it answers %j", async (message) => {
    const { reach } = open();
    const send = () => Promise.reject(new Error(message));
    await expect(reach.ask({ send, probe: neverSent.probe })).rejects.toThrow(AwayError);
    expect(reach.isAway).toBe(true);
  });
});
