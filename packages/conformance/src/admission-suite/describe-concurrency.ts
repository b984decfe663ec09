import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { countAdmitted, kindOf, placeOf, requestOf, SHORT_MS } from "./requests.js";

/** Requests at once. */
export function describeConcurrency(open: OpenStore): void {
  describe("places", () => {
    const opened = useStore(open);

    it("are taken by exactly as many of a thousand at once as there are", async () => {
      const { store } = opened();
      expect(await countAdmitted(store, 1_000, () => ({ concurrency: [placeOf({ limit: 137 })] }))).toBe(137);
    });

    it("are given back when a request is over, each once", async () => {
      const { store } = opened();
      const concurrency = [placeOf({ limit: 2 })];
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

    it("stay taken when a request is over that was refused", async () => {
      const { store } = opened();
      const concurrency = [placeOf()];
      await store.admit(requestOf({ concurrency }));
      const refused = requestOf({ concurrency });
      await store.admit(refused);
      await store.finish(refused, { kind: "forget" });
      expect(await kindOf(store, { concurrency })).toBe("crowded");
    });

    it("are free again when a lease ends, and only those whose lease it was", async () => {
      const { store, advance, slackMs } = opened();
      const dead = placeOf({ limit: 2, leaseMs: SHORT_MS });
      const alive = placeOf({ limit: 2 });
      await store.admit(requestOf({ concurrency: [alive] }));
      await store.admit(requestOf({ concurrency: [dead] }));
      await advance(SHORT_MS - 1 - slackMs);
      expect(await kindOf(store, { concurrency: [alive] })).toBe("crowded");
      await advance(1 + slackMs);
      expect(await kindOf(store, { concurrency: [alive] })).toBe("admitted");
      expect(await kindOf(store, { concurrency: [alive] })).toBe("crowded");
    });

    it("are not freed by who comes back late, when another has the place", async () => {
      const { store, advance, slackMs } = opened();
      const late = requestOf({ concurrency: [placeOf({ leaseMs: SHORT_MS })] });
      await store.admit(late);
      await advance(SHORT_MS + slackMs);
      expect(await kindOf(store, { concurrency: [placeOf()] })).toBe("admitted");
      await store.finish(late, { kind: "forget" });
      expect(await kindOf(store, { concurrency: [placeOf()] })).toBe("crowded");
    });

    it("are counted by their key", async () => {
      const { store } = opened();
      await store.admit(requestOf({ concurrency: [placeOf()] }));
      expect(await kindOf(store, { concurrency: [placeOf({ key: "other" })] })).toBe("admitted");
    });
  });
}
