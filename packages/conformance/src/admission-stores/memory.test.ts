import { createMemoryAdmissionStore } from "@calotype/core";
import { expect, it } from "vitest";
import { compareStores } from "../admission-suite/compare-stores.js";
import { createNaiveStore } from "../admission-suite/naive-store.js";
import { describeAdmissionStore } from "../admission-suite.js";
import { createClock } from "../ledger-suite/clock.js";
import { isFull } from "../support/test-run.js";

describeAdmissionStore("in memory", () => {
  const clock = createClock();
  return {
    store: createMemoryAdmissionStore({ now: clock.now }),
    now: clock.now,
    advance: async (ms) => clock.advance(ms),
    slackMs: 0,
  };
});

it("decides like a store that remembers everything", async () => {
  const kinds = await compareStores((now) => createMemoryAdmissionStore({ now }), createNaiveStore, {
    runs: isFull() ? 2_000 : 500,
    isVirtual: true,
  });
  expect(kinds.size).toBe(7);
});
