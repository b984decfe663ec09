import type { AdmissionRequest, AdmissionStore, IdempotencyOutcome } from "@calotype/core";
import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { claimOf, countAdmitted, kindOf, LEASE_MS, RESPONSE, requestOf, SHORT_MS } from "./requests.js";

const KEEP: IdempotencyOutcome = { kind: "keep", response: RESPONSE, ttlMs: LEASE_MS };
const MARK: IdempotencyOutcome = { kind: "mark", ttlMs: LEASE_MS };
const FORGET: IdempotencyOutcome = { kind: "forget" };

const SAME = { idempotency: claimOf() };
const OTHER_BODY = { idempotency: claimOf({ fingerprint: "other" }) };

async function start(store: AdmissionStore, leaseMs = LEASE_MS): Promise<AdmissionRequest> {
  const request = requestOf({ idempotency: claimOf({ leaseMs }) });
  await store.admit(request);
  return request;
}

/** Requests that carry a key. */
export function describeIdempotency(open: OpenStore): void {
  describe("an idempotency key", () => {
    const opened = useStore(open);

    it("is taken by one of a thousand at once", async () => {
      const { store } = opened();
      expect(await countAdmitted(store, 1_000, () => SAME)).toBe(1);
      expect(await kindOf(store, SAME)).toBe("running");
    });

    it("gives the kept answer again, as often as it is asked", async () => {
      const { store } = opened();
      await store.finish(await start(store), KEEP);
      expect(await store.admit(requestOf(SAME))).toEqual({ kind: "replay", response: RESPONSE });
      expect(await store.admit(requestOf(SAME))).toEqual({ kind: "replay", response: RESPONSE });
    });

    it("refuses a repeat of what was only marked", async () => {
      const { store } = opened();
      await store.finish(await start(store), MARK);
      expect(await store.admit(requestOf(SAME))).toEqual({ kind: "not_replayable" });
    });

    it("is free again once it is forgotten, for any body", async () => {
      const { store } = opened();
      await store.finish(await start(store), FORGET);
      expect(await kindOf(store, OTHER_BODY)).toBe("admitted");
    });

    it.each([
      ["running", undefined],
      ["answered", KEEP],
      ["marked", MARK],
    ])("refuses another body while the first is %s", async (_state, outcome) => {
      const { store } = opened();
      const first = await start(store);
      if (outcome !== undefined) await store.finish(first, outcome);
      expect(await store.admit(requestOf(OTHER_BODY))).toEqual({ kind: "conflict" });
    });

    it.each([
      ["an answer", { ...KEEP, ttlMs: SHORT_MS }],
      ["a mark", { ...MARK, ttlMs: SHORT_MS }],
    ])("is free again when the time of %s is over", async (_what, outcome) => {
      const { store, advance, slackMs } = opened();
      await store.finish(await start(store), outcome);
      await advance(SHORT_MS - 1 - slackMs);
      expect(await kindOf(store, SAME)).not.toBe("admitted");
      await advance(1 + slackMs);
      expect(await kindOf(store, OTHER_BODY)).toBe("admitted");
    });

    it("is free again when nobody ended its request in time", async () => {
      const { store, advance, slackMs } = opened();
      await start(store, SHORT_MS);
      await advance(SHORT_MS - 1 - slackMs);
      expect(await kindOf(store, SAME)).toBe("running");
      await advance(1 + slackMs);
      expect(await kindOf(store, SAME)).toBe("admitted");
    });

    it("keeps an answer that came late, when nobody else took the key", async () => {
      const { store, advance, slackMs } = opened();
      const late = await start(store, SHORT_MS);
      await advance(SHORT_MS + slackMs);
      await store.finish(late, KEEP);
      expect(await kindOf(store, SAME)).toBe("replay");
    });

    it.each([
      ["kept", KEEP],
      ["marked", MARK],
      ["forgotten", FORGET],
    ])("stays with who took it, when a late one is to be %s", async (_what, outcome) => {
      const { store, advance, slackMs } = opened();
      const late = await start(store, SHORT_MS);
      await advance(SHORT_MS + slackMs);
      const second = await start(store);
      await store.finish(late, outcome);
      expect(await kindOf(store, SAME)).toBe("running");
      await store.finish(second, MARK);
      await store.finish(late, outcome);
      expect(await kindOf(store, SAME)).toBe("not_replayable");
    });

    it("is not ended by a request that was refused for it", async () => {
      const { store } = opened();
      await start(store);
      const refused = requestOf(SAME);
      await store.admit(refused);
      await store.finish(refused, FORGET);
      expect(await kindOf(store, SAME)).toBe("running");
    });

    it("is one caller's: the same key of another is another", async () => {
      const { store } = opened();
      await store.finish(await start(store), KEEP);
      const other = requestOf({ idempotency: claimOf({ key: "claim of another" }) });
      expect(await store.admit(other)).toMatchObject({ kind: "admitted" });
      await store.finish(other, FORGET);
      expect(await kindOf(store, SAME)).toBe("replay");
    });
  });
}
