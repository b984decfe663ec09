import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { countAdmitted, kindOf, requestOf, SHORT_MS, WINDOW_MS, windowOf } from "./requests.js";

/** Limits in windows of time. */
export function describeWindows(open: OpenStore): void {
  describe("a window", () => {
    const opened = useStore(open);

    it("admits exactly as many of a thousand requests as its limit", async () => {
      const { store } = opened();
      expect(await countAdmitted(store, 1_000, () => ({ windows: [windowOf({ limit: 137 })] }))).toBe(137);
    });

    it("counts costs up to the limit, and admits a smaller cost after a refusal", async () => {
      const { store } = opened();
      const take = (cost: number) => kindOf(store, { windows: [windowOf({ limit: 10, cost })] });
      expect([await take(6), await take(5), await take(4), await take(1)]).toEqual([
        "admitted",
        "limited",
        "admitted",
        "limited",
      ]);
    });

    it("returns what is left and the time until its end", async () => {
      const { store, advance, slackMs } = opened();
      const windows = [windowOf({ limit: 5, cost: 2 })];
      const first = await store.admit(requestOf({ windows }));
      expect(first).toMatchObject({ kind: "admitted", windows: [{ remaining: 3 }] });
      await advance(SHORT_MS);
      const second = await store.admit(requestOf({ windows }));
      expect(second).toMatchObject({ kind: "admitted", windows: [{ remaining: 1 }] });
      const third = await store.admit(requestOf({ windows }));
      expect(third).toMatchObject({ kind: "limited", limit: windows[0], windows: [{ remaining: 1 }] });
      for (const decision of [second, third]) {
        const { resetMs = -1 } = ("windows" in decision && decision.windows[0]) || {};
        expect(resetMs).toBeLessThanOrEqual(WINDOW_MS - SHORT_MS);
        expect(resetMs).toBeGreaterThanOrEqual(WINDOW_MS - SHORT_MS - slackMs);
      }
    });

    it("begins with its first count and ends after its length", async () => {
      const { store, advance, slackMs } = opened();
      const windows = [windowOf({ limit: 2, windowMs: SHORT_MS })];
      await advance(SHORT_MS / 2);
      expect(await kindOf(store, { windows })).toBe("admitted");
      await advance(SHORT_MS / 2);
      expect(await kindOf(store, { windows })).toBe("admitted");
      expect(await kindOf(store, { windows })).toBe("limited");
      await advance(Math.max(0, SHORT_MS / 2 - 1 - slackMs));
      expect(await kindOf(store, { windows })).toBe("limited");
      await advance(1 + slackMs);
      expect(await store.admit(requestOf({ windows }))).toMatchObject({
        kind: "admitted",
        windows: [{ remaining: 1 }],
      });
    });

    it("does not begin with a refused request", async () => {
      const { store } = opened();
      const windows = [windowOf({ limit: 10, cost: 11 })];
      const refusal = { kind: "limited", limit: windows[0], windows: [{ remaining: 10, resetMs: 0 }] };
      expect(await store.admit(requestOf({ windows }))).toEqual(refusal);
      expect(await store.admit(requestOf({ windows }))).toEqual(refusal);
    });

    it("keeps its count when a request has finished", async () => {
      const { store } = opened();
      const request = requestOf({ windows: [windowOf()] });
      await store.admit(request);
      await store.finish(request, { kind: "forget" });
      expect(await kindOf(store, { windows: [windowOf()] })).toBe("limited");
    });

    it("has a count for each key, which stays when the limit changes", async () => {
      const { store } = opened();
      await store.admit(requestOf({ windows: [windowOf({ limit: 3, cost: 3 })] }));
      expect(await kindOf(store, { windows: [windowOf({ key: "other" })] })).toBe("admitted");
      expect(await store.admit(requestOf({ windows: [windowOf({ limit: 2 })] }))).toMatchObject({
        kind: "limited",
        windows: [{ remaining: 0 }],
      });
      expect(await kindOf(store, { windows: [windowOf({ limit: 4 })] })).toBe("admitted");
    });
  });
}
