import { type AdmissionRequest, findAbility, TURN_STORE, type TurnStore } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { idempotencyOf, kindOf, LEASE_MS, requestOf, SHORT_MS, slotOf, windowOf } from "./requests.js";

const FORGET = { kind: "forget" } as const;
const wait = (waitedMs = 0, leaseMs = LEASE_MS) => ({ waitedMs, leaseMs });
const windows = (cost: number) => ({ windows: [windowOf({ limit: 4, cost })] });
const PASSING = wait(0, 0);

/** The turns of requests that wait. Only for stores that hand out turns. */
export function describeTurns(open: OpenStore): void {
  describe("a request that waits for its turn", () => {
    const opened = useStore(open);
    const turnsOf = (): TurnStore => {
      const turns = findAbility(opened().store, TURN_STORE);
      if (turns === undefined) throw new Error("The store hands out no turns.");
      return turns;
    };
    const ask = async (request: AdmissionRequest, turn = wait()): Promise<string> =>
      (await turnsOf().admitInTurn(request, turn)).kind;
    const slot = { concurrency: [slotOf()] };
    /** A request that has the slot. */
    const occupy = async (): Promise<AdmissionRequest> => {
      const running = requestOf(slot);
      expect(await ask(running, PASSING)).toBe("admitted");
      return running;
    };

    it("is admitted before one that came later, and that one after it", async () => {
      const { store } = opened();
      const running = await occupy();
      const [first, second] = [requestOf(slot), requestOf(slot)];
      expect([await ask(first, wait(10)), await ask(second, wait(5))]).toEqual(["crowded", "crowded"]);
      await store.finish(running, FORGET);
      expect([await ask(second, wait(15)), await ask(requestOf(slot), PASSING)]).toEqual([
        "crowded",
        "crowded",
      ]);
      expect(await ask(first, wait(20))).toBe("admitted");
      await store.finish(first, FORGET);
      expect(await ask(second, wait(25))).toBe("admitted");
    });

    it("is first if it says that it has waited longest, although the store learns of it later", async () => {
      const { store } = opened();
      const running = await occupy();
      const [young, old] = [requestOf(slot), requestOf(slot)];
      await ask(young, wait(1_000));
      await ask(old, wait(60_000));
      await store.finish(running, FORGET);
      expect([await ask(young, wait(1_010)), await ask(old, wait(60_010))]).toEqual(["crowded", "admitted"]);
    });

    it("keeps nobody waiting at limits that are not its own", async () => {
      await occupy();
      await ask(requestOf(slot));
      expect(await ask(requestOf({ concurrency: [slotOf({ key: "other" })] }), PASSING)).toBe("admitted");
    });

    it("for a window keeps smaller ones from passing it, and counts nothing meanwhile", async () => {
      await ask(requestOf(windows(1)), PASSING);
      const large = requestOf(windows(4));
      expect(await ask(large)).toBe("limited");
      const decision = await turnsOf().admitInTurn(requestOf(windows(1)), PASSING);
      expect(decision).toMatchObject({ kind: "limited", windows: [{ remaining: 3 }] });
      await turnsOf().giveUpTurn(large);
      expect(await ask(requestOf(windows(3)), PASSING)).toBe("admitted");
    });

    it("moves to the limit that refuses it next", async () => {
      const { store } = opened();
      const both = { concurrency: [slotOf({ key: "a" }), slotOf({ key: "b" })] };
      const [a, b] = [
        requestOf({ concurrency: [slotOf({ key: "a" })] }),
        requestOf({ concurrency: [slotOf({ key: "b" })] }),
      ];
      await ask(a, PASSING);
      await ask(b, PASSING);
      const waiting = requestOf(both);
      await ask(waiting, wait(10));
      await store.finish(a, FORGET);
      expect(await ask(waiting, wait(20))).toBe("crowded");
      expect(await ask(requestOf({ concurrency: [slotOf({ key: "a" })] }), PASSING)).toBe("admitted");
      expect(await ask(requestOf({ concurrency: [slotOf({ key: "b" })] }), PASSING)).toBe("crowded");
    });

    it("keeps others waiting only until the lease of its place ends, if its process has died", async () => {
      const { store, advance } = opened();
      const running = await occupy();
      await ask(requestOf(slot), wait(10, SHORT_MS));
      await store.finish(running, FORGET);
      expect(await ask(requestOf(slot), PASSING)).toBe("crowded");
      await advance(SHORT_MS + 1);
      expect(await ask(requestOf(slot), PASSING)).toBe("admitted");
    });

    it.each([
      ["gives up", (request: AdmissionRequest) => turnsOf().giveUpTurn(request)],
      ["is refused for the last time", (request: AdmissionRequest) => ask(request, wait(30, 0))],
    ])("has no place and no idempotency key after it %s", async (_how, end) => {
      const { store } = opened();
      const running = await occupy();
      const waiting = requestOf({ ...slot, idempotency: idempotencyOf() });
      await ask(waiting, wait(10));
      await end(waiting);
      await store.finish(running, FORGET);
      expect(await ask(requestOf({ ...slot, idempotency: idempotencyOf() }), PASSING)).toBe("admitted");
    });

    it("has its idempotency key: repeats are refused as while it runs, and it is admitted itself", async () => {
      const { store } = opened();
      const running = await occupy();
      const same = { ...slot, idempotency: idempotencyOf() };
      const waiting = requestOf(same);
      await ask(waiting, wait(10));
      expect([await ask(requestOf(same), PASSING), await kindOf(store, same)]).toEqual([
        "running",
        "running",
      ]);
      const other = { ...slot, idempotency: idempotencyOf({ fingerprint: "other" }) };
      expect(await ask(requestOf(other), PASSING)).toBe("conflict");
      await store.finish(running, FORGET);
      expect(await ask(waiting, wait(20))).toBe("admitted");
      expect(await ask(requestOf(same), PASSING)).toBe("running");
      await store.finish(waiting, FORGET);
      expect(await ask(requestOf(same), PASSING)).toBe("admitted");
    });

    it("shares exactly the limit with a thousand others", async () => {
      const limits = { windows: [windowOf({ limit: 100 })], concurrency: [slotOf({ limit: 40 })] };
      const kinds = await Promise.all(
        Array.from({ length: 1_000 }, (_, index) => ask(requestOf(limits), wait(index))),
      );
      expect(kinds.filter((kind) => kind === "admitted").length).toBeLessThanOrEqual(40);
      expect(kinds).toContain("admitted");
    });
  });
}
