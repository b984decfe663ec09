import type { AdmissionStore, ChannelPause } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { LEASE_MS, requestOf, SHORT_MS } from "./requests.js";

const SINCE = "2026-11-28T09:00:00.123Z";
const PAUSE: ChannelPause = { since: SINCE, by: "kim", note: 'Two\n"lines" {} 猫 %s \u0000' };

/** Returns the pauses that the store has of these channels. */
async function pausesOf(store: AdmissionStore, channels: readonly string[]): Promise<unknown> {
  const decision = await store.admit(requestOf({ pausesOf: channels }));
  return decision.kind === "admitted" ? (decision.pauses ?? {}) : decision;
}

async function setPause(store: AdmissionStore, id: string, pause: ChannelPause | undefined): Promise<void> {
  if (store.setPause === undefined) throw new Error("The store keeps no pauses.");
  await store.setPause(id, pause);
}

/** Pauses of channels. */
export function describePauses(open: OpenStore): void {
  describe("a pause", () => {
    const opened = useStore(open);

    it.each(["ark", "ark@paused", "__proto__", "{} 猫"])(
      "of %s is returned to requests for its channel, until it is resumed",
      async (id) => {
        const { store } = opened();
        await setPause(store, id, PAUSE);
        expect(await pausesOf(store, ["other", id])).toEqual(Object.fromEntries([[id, PAUSE]]));
        expect(await pausesOf(store, ["other"])).toEqual({});
        expect(await pausesOf(store, [])).toEqual({});
        await setPause(store, id, undefined);
        expect(await pausesOf(store, [id])).toEqual({});
      },
    );

    it("is independent of the cooldown of its channel", async () => {
      const { store, now } = opened();
      const cooldown = { until: now() + LEASE_MS, reason: "rate" };
      await setPause(store, "ark", PAUSE);
      await store.setCooldown("ark", cooldown);
      const request = { channels: ["ark"], pausesOf: ["ark"] };
      const both = { kind: "admitted", windows: [], cooldowns: { ark: cooldown }, pauses: { ark: PAUSE } };
      expect(await store.admit(requestOf(request))).toEqual(both);
      await store.setCooldown("ark", undefined);
      expect(await store.admit(requestOf(request))).toEqual({ ...both, cooldowns: {} });
    });

    it("is replaced by the next one, and is over at its end", async () => {
      const { store, now, advance, slackMs } = opened();
      const next = { since: SINCE, until: new Date(now() + SHORT_MS).toISOString(), by: "lee" };
      await setPause(store, "ark", PAUSE);
      await setPause(store, "ark", next);
      await advance(SHORT_MS - 1 - slackMs);
      expect(await pausesOf(store, ["ark"])).toEqual({ ark: next });
      await advance(1 + slackMs);
      expect(await pausesOf(store, ["ark"])).toEqual({});
    });
  });
}
