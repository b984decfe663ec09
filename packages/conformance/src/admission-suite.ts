import { describe } from "vitest";
import { describeAtomicity } from "./admission-suite/describe-atomicity.js";
import { describeConcurrency } from "./admission-suite/describe-concurrency.js";
import { describeCooldowns } from "./admission-suite/describe-cooldowns.js";
import { describeCounts } from "./admission-suite/describe-counts.js";
import { describeHostileKeys } from "./admission-suite/describe-hostile-keys.js";
import { describeIdempotency } from "./admission-suite/describe-idempotency.js";
import { describePauses } from "./admission-suite/describe-pauses.js";
import { describeTurns } from "./admission-suite/describe-turns.js";
import { describeWindows } from "./admission-suite/describe-windows.js";
import type { OpenStore } from "./admission-suite/open-store.js";

/** The tests that every admission store passes. Each store calls it once, in a short file: see `admission-stores/`. */
export function describeAdmissionStore(name: string, open: OpenStore): void {
  describe(`an admission store ${name}`, () => {
    describeWindows(open);
    describeConcurrency(open);
    describeCounts(open);
    describeAtomicity(open);
    describeIdempotency(open);
    describeCooldowns(open);
    describePauses(open);
    describeHostileKeys(open);
    describeTurns(open);
  });
}
