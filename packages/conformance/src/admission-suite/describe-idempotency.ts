import type { AdmissionRequest, AdmissionStore, IdempotencyOutcome } from "@calotype/core/stores";
import { describe, expect, it } from "vitest";
import { type OpenStore, useStore } from "./open-store.js";
import { countAdmitted, idempotencyOf, kindOf, LEASE_MS, RESPONSE, requestOf, SHORT_MS } from "./requests.js";

const KEEP: IdempotencyOutcome = { kind: "keep", response: RESPONSE, ttlMs: LEASE_MS };
const MARK: IdempotencyOutcome = { kind: "mark", ttlMs: LEASE_MS };
const FORGET: IdempotencyOutcome = { kind: "forget" };

const SAME = { idempotency: idempotencyOf() };
const OTHER_BODY = { idempotency: idempotencyOf({ fingerprint: "other" }) };

async function start(store: AdmissionStore, leaseMs = LEASE_MS): Promise<AdmissionRequest> {
  const request = requestOf({ idempotency: idempotencyOf({ leaseMs }) });
  await store.admit(request);
  return request;
}

/** Requests with an idempotency key. */
export function describeIdempotency(open: OpenStore): void {
  describe("an idempotency key", () => {
    const opened = useStore(open);

    it("is taken by one of a thousand requests", async () => {
      const { store } = opened();
      expect(await countAdmitted(store, 1_000, () => SAME)).toBe(1);
      expect(await kindOf(store, SAME)).toBe("running");
    });

    it("returns the stored response each time", async () => {
      const { store } = opened();
      await store.finish(await start(store), KEEP);
      expect(await store.admit(requestOf(SAME))).toEqual({ kind: "replay", response: RESPONSE });
      expect(await store.admit(requestOf(SAME))).toEqual({ kind: "replay", response: RESPONSE });
    });

    it("refuses a repeat if the response is not stored", async () => {
      const { store } = opened();
      await store.finish(await start(store), MARK);
      expect(await store.admit(requestOf(SAME))).toEqual({ kind: "not_replayable" });
    });

    it("is free for any content after the outcome forget", async () => {
      const { store } = opened();
      await store.finish(await start(store), FORGET);
      expect(await kindOf(store, OTHER_BODY)).toBe("admitted");
    });

    it.each([
      ["running", undefined],
      ["finished with a response", KEEP],
      ["finished without a response", MARK],
    ])("refuses other content if the first request is %s", async (_state, outcome) => {
      const { store } = opened();
      const first = await start(store);
      if (outcome !== undefined) await store.finish(first, outcome);
      expect(await store.admit(requestOf(OTHER_BODY))).toEqual({ kind: "conflict" });
    });

    it.each([
      ["a stored response", { ...KEEP, ttlMs: SHORT_MS }],
      ["a finished request", { ...MARK, ttlMs: SHORT_MS }],
    ])("is free again when the time to live of %s is over", async (_what, outcome) => {
      const { store, advance, slackMs } = opened();
      await store.finish(await start(store), outcome);
      await advance(SHORT_MS - 1 - slackMs);
      expect(await kindOf(store, SAME)).not.toBe("admitted");
      await advance(1 + slackMs);
      expect(await kindOf(store, OTHER_BODY)).toBe("admitted");
    });

    it("is free again when the lease of an unfinished request ends", async () => {
      const { store, advance, slackMs } = opened();
      await start(store, SHORT_MS);
      await advance(SHORT_MS - 1 - slackMs);
      expect(await kindOf(store, SAME)).toBe("running");
      await advance(1 + slackMs);
      expect(await kindOf(store, SAME)).toBe("admitted");
    });

    it("stores a late response if no other request took the key", async () => {
      const { store, advance, slackMs } = opened();
      const late = await start(store, SHORT_MS);
      await advance(SHORT_MS + slackMs);
      await store.finish(late, KEEP);
      expect(await kindOf(store, SAME)).toBe("replay");
    });

    it.each([
      ["keep", KEEP],
      ["mark", MARK],
      ["forget", FORGET],
    ])(
      "stays with the second request when the first one finishes late with the outcome %s",
      async (_what, outcome) => {
        const { store, advance, slackMs } = opened();
        const late = await start(store, SHORT_MS);
        await advance(SHORT_MS + slackMs);
        const second = await start(store);
        await store.finish(late, outcome);
        expect(await kindOf(store, SAME)).toBe("running");
        await store.finish(second, MARK);
        await store.finish(late, outcome);
        expect(await kindOf(store, SAME)).toBe("not_replayable");
      },
    );

    it("is not ended by a request that it refused", async () => {
      const { store } = opened();
      await start(store);
      const refused = requestOf(SAME);
      await store.admit(refused);
      await store.finish(refused, FORGET);
      expect(await kindOf(store, SAME)).toBe("running");
    });

    it("is separate for each key", async () => {
      const { store } = opened();
      await store.finish(await start(store), KEEP);
      const other = requestOf({ idempotency: idempotencyOf({ key: "another key" }) });
      expect(await store.admit(other)).toMatchObject({ kind: "admitted" });
      await store.finish(other, FORGET);
      expect(await kindOf(store, SAME)).toBe("replay");
    });
  });
}
