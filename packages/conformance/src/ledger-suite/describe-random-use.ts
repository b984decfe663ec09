import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SEED } from "../support/test-run.js";
import { createClock } from "./clock.js";
import type { OpenLedger } from "./open-ledger.js";
import { randomStep } from "./random-steps.js";
import { observe, type Trial, takeStep } from "./random-trial.js";
import { ReferenceLedger } from "./reference-ledger.js";

const SEQUENCES = fc.array(randomStep, { minLength: 1, maxLength: 40, size: "max" });

/** For any steps in any order, a ledger gives the same results as the reference. */
export function describeRandomUse(open: OpenLedger, runs: number): void {
  describe("a ledger in random use", () => {
    it(`agrees with the reference after each step of ${runs} random sequences`, async () => {
      await fc.assert(
        fc.asyncProperty(SEQUENCES, async (steps) => {
          const clock = createClock();
          const { ledger, close } = await open({ now: clock.now });
          const trial: Trial = { ledger, reference: new ReferenceLedger(), clock, taken: [] };
          try {
            for (const step of steps) {
              const said = await takeStep(trial, step);
              expect(said.ledger).toEqual(said.reference);
              const seen = await observe(trial);
              expect(seen.ledger).toEqual(seen.reference);
            }
          } finally {
            await close?.();
          }
        }),
        { numRuns: runs, seed: SEED },
      );
    }, 120_000);
  });
}
