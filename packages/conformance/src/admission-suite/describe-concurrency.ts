import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { countAdmitted, kindOf, requestOf, SHORT_MS, slotOf } from "./requests.js";

/** Limits on concurrent requests. */
export function describeConcurrency(open: OpenStore): void {
  describe("slots", () => {
    const opened = useStore(open);

    it("are taken by exactly as many of a thousand requests as there are slots", async () => {
      const { store } = opened();
      expect(await countAdmitted(store, 1_000, () => ({ concurrency: [slotOf({ limit: 137 })] }))).toBe(137);
    });

    it("are released when a request is over, each once", async () => {
      const { store } = opened();
      const concurrency = [slotOf({ limit: 2 })];
      const first = requestOf({ concurrency });
      await store.admit(first);
      await store.admit(requestOf({ concurrency }));
      const refused = requestOf({ concurrency });
      expect(await store.admit(refused)).toEqual({ kind: "crowded", limit: concurrency[0], windows: [] });
      await store.finish(first, { kind: "forget" });
      await store.finish(first, { kind: "forget" });
      expect(await kindOf(store, { concurrency })).toBe("admitted");
      expect(await kindOf(store, { concurrency })).toBe("crowded");
    });

    it("stay taken when a refused request is over", async () => {
      const { store } = opened();
      const concurrency = [slotOf()];
      await store.admit(requestOf({ concurrency }));
      const refused = requestOf({ concurrency });
      await store.admit(refused);
      await store.finish(refused, { kind: "forget" });
      expect(await kindOf(store, { concurrency })).toBe("crowded");
    });

    it("are free again when their own lease ends", async () => {
      const { store, advance, slackMs } = opened();
      const dead = slotOf({ limit: 2, leaseMs: SHORT_MS });
      const alive = slotOf({ limit: 2 });
      await store.admit(requestOf({ concurrency: [alive] }));
      await store.admit(requestOf({ concurrency: [dead] }));
      await advance(SHORT_MS - 1 - slackMs);
      expect(await kindOf(store, { concurrency: [alive] })).toBe("crowded");
      await advance(1 + slackMs);
      expect(await kindOf(store, { concurrency: [alive] })).toBe("admitted");
      expect(await kindOf(store, { concurrency: [alive] })).toBe("crowded");
    });

    it("are not released by a late request if another request has the slot", async () => {
      const { store, advance, slackMs } = opened();
      const late = requestOf({ concurrency: [slotOf({ leaseMs: SHORT_MS })] });
      await store.admit(late);
      await advance(SHORT_MS + slackMs);
      expect(await kindOf(store, { concurrency: [slotOf()] })).toBe("admitted");
      await store.finish(late, { kind: "forget" });
      expect(await kindOf(store, { concurrency: [slotOf()] })).toBe("crowded");
    });

    it("are counted for each key", async () => {
      const { store } = opened();
      await store.admit(requestOf({ concurrency: [slotOf()] }));
      expect(await kindOf(store, { concurrency: [slotOf({ key: "other" })] })).toBe("admitted");
    });
  });
}
