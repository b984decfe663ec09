import { createMemoryAdmissionStore } from "@calotype/core";
import { describeAdmissionStore } from "../admission-suite.js";
import { createClock } from "../ledger-suite/clock.js";

describeAdmissionStore("in memory", () => {
  const clock = createClock();
  return {
    store: createMemoryAdmissionStore({ now: clock.now }),
    now: clock.now,
    advance: async (ms) => clock.advance(ms),
    slackMs: 0,
  };
});
