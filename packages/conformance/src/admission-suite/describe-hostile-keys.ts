import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { claimOf, kindOf, LEASE_MS, placeOf, RESPONSE, requestOf, windowOf } from "./requests.js";

/** Texts that have a meaning somewhere. Well-formed: the gateway writes its keys so that they are. */
const HOSTILE = [
  "__proto__",
  "constructor",
  "toString",
  "",
  " ",
  "a b",
  "a\r\nb",
  "a\u0000b",
  "{a}b",
  "a:b",
  "a*",
  '"],["',
  "猫",
  "e\u0301",
  "\u00e9",
  "🐈",
  "A",
  "a",
  "x".repeat(10_000),
];

/** Whatever callers, models and channels are called. */
export function describeHostileKeys(open: OpenStore): void {
  describe("keys", () => {
    const opened = useStore(open);

    it("are kept apart, whatever they hold, and windows, places and claims of one key too", async () => {
      const { store, now } = opened();
      const cooldown = { until: now() + LEASE_MS, reason: "rate" };
      for (const key of HOSTILE) {
        await store.setCooldown(key, cooldown);
        const whole = {
          windows: [windowOf({ key })],
          concurrency: [placeOf({ key })],
          idempotency: claimOf({ key }),
          channels: [key],
        };
        const request = requestOf(whole);
        const decision = await store.admit(request);
        expect(decision.kind).toBe("admitted");
        expect("cooldowns" in decision && Object.entries(decision.cooldowns)).toEqual([[key, cooldown]]);
        expect(await kindOf(store, whole)).toBe("running");
        expect(await kindOf(store, { windows: [windowOf({ key })] })).toBe("limited");
        expect(await kindOf(store, { concurrency: [placeOf({ key })] })).toBe("crowded");
        await store.finish(request, { kind: "keep", response: { ...RESPONSE, body: key }, ttlMs: LEASE_MS });
      }
      for (const key of HOSTILE) {
        expect(await store.admit(requestOf({ idempotency: claimOf({ key }) }))).toMatchObject({
          response: { body: key },
        });
      }
    });

    it("of no channel that cools are found on no object", async () => {
      const { store } = opened();
      const decision = await store.admit(requestOf({ channels: HOSTILE }));
      expect("cooldowns" in decision && Object.keys(decision.cooldowns)).toEqual([]);
    });

    it("may be the id of a request", async () => {
      const { store } = opened();
      const requests = HOSTILE.map((id) =>
        requestOf({ id, concurrency: [placeOf({ limit: HOSTILE.length })] }),
      );
      for (const request of requests) expect(await store.admit(request)).toMatchObject({ kind: "admitted" });
      expect(await kindOf(store, { concurrency: [placeOf({ limit: HOSTILE.length })] })).toBe("crowded");
      for (const request of requests) await store.finish(request, { kind: "forget" });
      expect(await kindOf(store, { concurrency: [placeOf()] })).toBe("admitted");
    });
  });
}
