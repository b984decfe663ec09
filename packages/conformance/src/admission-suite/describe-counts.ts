import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { kindOf, requestOf, SHORT_MS, slotOf, WINDOW_MS, windowOf } from "./requests.js";

/** Counts that are read without a request. For stores that have `readCounts`. */
export function describeCounts(open: OpenStore): void {
  describe("counts", () => {
    const opened = useStore(open);
    const readCounts = (
      keys: { readonly windows?: readonly string[]; readonly slots?: readonly string[] },
      caller = "me",
    ) => {
      const { windows = [], slots = [] } = keys;
      return opened().store.readCounts?.({
        caller,
        windows: windows.map((key) => ({ key, windowMs: WINDOW_MS })),
        concurrency: slots.map((key) => ({ key })),
      });
    };

    it("of a caller that was never seen are 0, and reading begins no window", async () => {
      const none = { windows: [{ count: 0, resetMs: 0 }], slots: [0] };
      expect(await readCounts({ windows: ["window"], slots: ["slot"] })).toEqual(none);
      expect(await readCounts({ windows: ["window"], slots: ["slot"] })).toEqual(none);
      expect(await readCounts({})).toEqual({ windows: [], slots: [] });
    });

    it("are those of the requests that were admitted, in the order of the keys", async () => {
      const { store, advance, slackMs } = opened();
      const small = windowOf({ key: "small", limit: 5, cost: 2 });
      const large = windowOf({ key: "large", limit: 100, cost: 7 });
      await store.admit(requestOf({ windows: [small, large], concurrency: [slotOf({ limit: 3 })] }));
      await store.admit(requestOf({ windows: [small], concurrency: [slotOf({ limit: 3 })] }));
      expect(await kindOf(store, { windows: [small] })).toBe("limited");
      await advance(SHORT_MS);

      const counts = await readCounts({ windows: ["large", "none", "small"], slots: ["none", "slot"] });

      expect(counts).toMatchObject({
        windows: [{ count: 7 }, { count: 0, resetMs: 0 }, { count: 4 }],
        slots: [0, 2],
      });
      expect(counts?.windows[0]?.resetMs).toBeLessThanOrEqual(WINDOW_MS - SHORT_MS);
      expect(counts?.windows[0]?.resetMs).toBeGreaterThanOrEqual(WINDOW_MS - SHORT_MS - slackMs);
      // Reading has counted nothing.
      expect(await store.admit(requestOf({ windows: [windowOf({ ...small, cost: 1 })] }))).toMatchObject({
        kind: "admitted",
        windows: [{ remaining: 0 }],
      });
    });

    it("are without slots that were released, or whose lease has ended, and without windows that are over", async () => {
      const { store, advance, slackMs } = opened();
      const request = requestOf({ concurrency: [slotOf({ limit: 3 })] });
      await store.admit(request);
      await store.admit(
        requestOf({
          windows: [windowOf({ windowMs: SHORT_MS })],
          concurrency: [slotOf({ limit: 3, leaseMs: SHORT_MS })],
        }),
      );
      await store.finish(request, { kind: "forget" });
      expect((await readCounts({ slots: ["slot"] }))?.slots).toEqual([1]);
      await advance(SHORT_MS + slackMs);
      expect(await readCounts({ windows: ["window"], slots: ["slot"] })).toEqual({
        windows: [{ count: 0, resetMs: 0 }],
        slots: [0],
      });
    });

    it("exceed a limit that was lowered", async () => {
      const { store } = opened();
      await store.admit(requestOf({ windows: [windowOf({ limit: 9, cost: 9 })] }));
      await kindOf(store, { windows: [windowOf({ limit: 2 })] });
      expect((await readCounts({ windows: ["window"] }))?.windows).toMatchObject([{ count: 9 }]);
    });

    it("have keys with any characters", async () => {
      const { store } = opened();
      const keys = ["__proto__", "", "{a}b", '"],["', "猫", "a\r\nb"];
      for (const [index, key] of keys.entries()) {
        await store.admit(
          requestOf({
            windows: [windowOf({ key, limit: 99, cost: index + 1 })],
            concurrency: [slotOf({ key })],
          }),
        );
      }
      const counts = await readCounts({ windows: keys, slots: keys });
      expect(counts?.windows.map(({ count }) => count)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(counts?.slots).toEqual([1, 1, 1, 1, 1, 1]);
    });
  });
}
