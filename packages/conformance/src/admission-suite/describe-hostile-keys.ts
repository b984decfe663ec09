import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { idempotencyOf, kindOf, LEASE_MS, RESPONSE, requestOf, slotOf, windowOf } from "./requests.js";

/** Strings with a special meaning somewhere. They are well-formed, as the keys of the gateway are. */
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

/** Keys with any characters. */
export function describeHostileKeys(open: OpenStore): void {
  describe("keys", () => {
    const opened = useStore(open);

    it("with any characters are separate, and so are windows, slots and idempotency keys with the same key", async () => {
      const { store, now } = opened();
      const cooldown = { until: now() + LEASE_MS, reason: "rate" };
      for (const key of HOSTILE) {
        await store.setCooldown(key, cooldown);
        const whole = {
          windows: [windowOf({ key })],
          concurrency: [slotOf({ key })],
          idempotency: idempotencyOf({ key }),
          channels: [key],
        };
        const request = requestOf(whole);
        const decision = await store.admit(request);
        expect(decision.kind).toBe("admitted");
        expect("cooldowns" in decision && Object.entries(decision.cooldowns)).toEqual([[key, cooldown]]);
        expect(await kindOf(store, whole)).toBe("running");
        expect(await kindOf(store, { windows: [windowOf({ key })] })).toBe("limited");
        expect(await kindOf(store, { concurrency: [slotOf({ key })] })).toBe("crowded");
        await store.finish(request, { kind: "keep", response: { ...RESPONSE, body: key }, ttlMs: LEASE_MS });
      }
      for (const key of HOSTILE) {
        expect(await store.admit(requestOf({ idempotency: idempotencyOf({ key }) }))).toMatchObject({
          response: { body: key },
        });
      }
    });

    it("of channels without a cooldown have none, even if objects have such a property", async () => {
      const { store } = opened();
      const decision = await store.admit(requestOf({ channels: HOSTILE }));
      expect("cooldowns" in decision && Object.keys(decision.cooldowns)).toEqual([]);
    });

    it("can be the ids of requests", async () => {
      const { store } = opened();
      const requests = HOSTILE.map((id) =>
        requestOf({ id, concurrency: [slotOf({ limit: HOSTILE.length })] }),
      );
      for (const request of requests) expect(await store.admit(request)).toMatchObject({ kind: "admitted" });
      expect(await kindOf(store, { concurrency: [slotOf({ limit: HOSTILE.length })] })).toBe("crowded");
      for (const request of requests) await store.finish(request, { kind: "forget" });
      expect(await kindOf(store, { concurrency: [slotOf()] })).toBe("admitted");
    });
  });
}
