import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { LEASE_MS, requestOf, SHORT_MS } from "./requests.js";

/** Channels that are left alone. */
export function describeCooldowns(open: OpenStore): void {
  describe("a cooldown", () => {
    const opened = useStore(open);

    it("is told to who asks for its channel, and to nobody else", async () => {
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

    it("is replaced by the next, the shorter one too", async () => {
      const { store, now } = opened();
      const next = { until: now() + LEASE_MS, reason: "credential" };
      await store.setCooldown("ark-1", { until: now() + 2 * LEASE_MS, reason: "rate" });
      await store.setCooldown("ark-1", next);
      expect(await store.admit(requestOf({ channels: ["ark-1"] }))).toMatchObject({
        cooldowns: { "ark-1": next },
      });
    });

    it("is over when the channel is well", async () => {
      const { store, now } = opened();
      await store.setCooldown("ark-1", { until: now() + LEASE_MS, reason: "rate" });
      await store.setCooldown("ark-1", undefined);
      await store.setCooldown("ark-2", undefined);
      const decision = await store.admit(requestOf({ channels: ["ark-1", "ark-2"] }));
      expect(decision).toEqual({ kind: "admitted", windows: [], cooldowns: {} });
    });

    it("is over on time", async () => {
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

    it("that is over already cools nothing", async () => {
      const { store, now } = opened();
      await store.setCooldown("ark-1", { until: now() - 1, reason: "rate" });
      const decision = await store.admit(requestOf({ channels: ["ark-1"] }));
      expect(decision).toEqual({ kind: "admitted", windows: [], cooldowns: {} });
    });
  });
}
