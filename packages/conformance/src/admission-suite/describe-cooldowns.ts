import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { LEASE_MS, requestOf, SHORT_MS } from "./requests.js";

/** Cooldowns of channels. */
export function describeCooldowns(open: OpenStore): void {
  describe("a cooldown", () => {
    const opened = useStore(open);

    it("is returned only to requests for its channel", async () => {
      const { store, now } = opened();
      const cooldown = { until: now() + LEASE_MS, reason: "rate" };
      await store.setCooldown("ark-1", cooldown);
      expect(await store.admit(requestOf({ channels: ["ark-1", "ark-2"] }))).toMatchObject({
        kind: "admitted",
        cooldowns: { "ark-1": cooldown },
      });
      expect(await store.admit(requestOf({ channels: ["ark-2"] }))).toMatchObject({ cooldowns: {} });
      expect(await store.admit(requestOf())).toEqual({ kind: "admitted", windows: [], cooldowns: {} });
    });

    it("is replaced by the next one, even by a shorter one", async () => {
      const { store, now } = opened();
      const next = { until: now() + LEASE_MS, reason: "credential" };
      await store.setCooldown("ark-1", { until: now() + 2 * LEASE_MS, reason: "rate" });
      await store.setCooldown("ark-1", next);
      expect(await store.admit(requestOf({ channels: ["ark-1"] }))).toMatchObject({
        cooldowns: { "ark-1": next },
      });
    });

    it("is over when it is set to undefined", async () => {
      const { store, now } = opened();
      await store.setCooldown("ark-1", { until: now() + LEASE_MS, reason: "rate" });
      await store.setCooldown("ark-1", undefined);
      await store.setCooldown("ark-2", undefined);
      const decision = await store.admit(requestOf({ channels: ["ark-1", "ark-2"] }));
      expect(decision).toEqual({ kind: "admitted", windows: [], cooldowns: {} });
    });

    it("is over at its end", async () => {
      const { store, now, advance, slackMs } = opened();
      const cooldown = { until: now() + SHORT_MS, reason: "rate" };
      await store.setCooldown("ark-1", cooldown);
      await advance(SHORT_MS - 1 - slackMs);
      expect(await store.admit(requestOf({ channels: ["ark-1"] }))).toMatchObject({
        cooldowns: { "ark-1": cooldown },
      });
      await advance(1 + slackMs);
      const decision = await store.admit(requestOf({ channels: ["ark-1"] }));
      expect(decision).toEqual({ kind: "admitted", windows: [], cooldowns: {} });
    });

    it("is not returned if its end is in the past", async () => {
      const { store, now } = opened();
      await store.setCooldown("ark-1", { until: now() - 1, reason: "rate" });
      const decision = await store.admit(requestOf({ channels: ["ark-1"] }));
      expect(decision).toEqual({ kind: "admitted", windows: [], cooldowns: {} });
    });
  });
}
