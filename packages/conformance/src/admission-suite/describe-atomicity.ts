import type { AdmissionRequest } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import {
  countAdmitted,
  idempotencyOf,
  kindOf,
  RESPONSE,
  requestOf,
  slotOf,
  WINDOW_MS,
  windowOf,
} from "./requests.js";

/** A request gets everything that it needs, or nothing. */
export function describeAtomicity(open: OpenStore): void {
  describe("a request with several limits", () => {
    const opened = useStore(open);

    it("is admitted with the states of its windows in order", async () => {
      const { store } = opened();
      const windows = [windowOf({ key: "b", limit: 3 }), windowOf({ key: "a", limit: 9, cost: 4 })];
      expect(await store.admit(requestOf({ windows, concurrency: [slotOf()] }))).toMatchObject({
        kind: "admitted",
        windows: [{ remaining: 2 }, { remaining: 5 }],
        cooldowns: {},
      });
    });

    it.each<[string, Partial<AdmissionRequest>, string]>([
      ["its first window", { windows: [windowOf({ key: "full" }), windowOf({ limit: 1 })] }, "limited"],
      ["its last window", { windows: [windowOf({ limit: 1 }), windowOf({ key: "full" })] }, "limited"],
      ["its concurrency limit", { concurrency: [slotOf(), slotOf({ key: "full" })] }, "crowded"],
    ])("takes nothing if %s is full", async (_what, limits, kind) => {
      const { store } = opened();
      await store.admit(
        requestOf({ windows: [windowOf({ key: "full" })], concurrency: [slotOf({ key: "full" })] }),
      );
      const whole = { windows: [windowOf()], concurrency: [slotOf()], idempotency: idempotencyOf() };

      expect(await kindOf(store, { ...whole, ...limits })).toBe(kind);

      expect(await store.admit(requestOf(whole))).toMatchObject({
        kind: "admitted",
        windows: [{ remaining: 0 }],
      });
    });

    it("names the first limit that is reached, and windows before slots", async () => {
      const { store } = opened();
      const [first, second] = [windowOf({ key: "first" }), windowOf({ key: "second" })];
      const concurrency = [slotOf()];
      await store.admit(requestOf({ windows: [first, second], concurrency }));
      expect(await store.admit(requestOf({ windows: [second, first], concurrency }))).toMatchObject({
        kind: "limited",
        limit: second,
      });
      expect(await store.admit(requestOf({ windows: [windowOf()], concurrency }))).toEqual({
        kind: "crowded",
        limit: concurrency[0],
        windows: [{ remaining: 1, resetMs: 0 }],
      });
    });

    it("takes nothing for a repeat, even if every limit is reached", async () => {
      const { store } = opened();
      const whole = { windows: [windowOf()], concurrency: [slotOf()], idempotency: idempotencyOf() };
      const first = requestOf(whole);
      await store.admit(first);
      expect(await kindOf(store, whole)).toBe("running");
      await store.finish(first, { kind: "keep", response: RESPONSE, ttlMs: WINDOW_MS });
      expect(await store.admit(requestOf(whole))).toEqual({ kind: "replay", response: RESPONSE });
      expect(await kindOf(store, { concurrency: [slotOf()] })).toBe("admitted");
    });

    it("is counted exactly among a thousand requests", async () => {
      const { store } = opened();
      const [wide, narrow] = [windowOf({ key: "wide", limit: 100 }), windowOf({ key: "narrow", limit: 60 })];
      expect(await countAdmitted(store, 1_000, () => ({ windows: [wide, narrow] }))).toBe(60);
      expect(await countAdmitted(store, 1_000, () => ({ windows: [wide] }))).toBe(40);
    });
  });
}
