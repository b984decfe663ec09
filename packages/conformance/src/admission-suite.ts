import { describe } from "vitest";
import { describeAtomicity } from "./admission-suite/describe-atomicity.js";
import { describeConcurrency } from "./admission-suite/describe-concurrency.js";
import { describeCooldowns } from "./admission-suite/describe-cooldowns.js";
import { describeHostileKeys } from "./admission-suite/describe-hostile-keys.js";
import { describeIdempotency } from "./admission-suite/describe-idempotency.js";
import { describeWindows } from "./admission-suite/describe-windows.js";
import type { OpenStore } from "./admission-suite/open-store.js";

/** What every store of limits does. Each calls it once, in a file of a few lines: see `admission-stores/`. */
export function describeAdmissionStore(name: string, open: OpenStore): void {
  describe(`a store of limits ${name}`, () => {
    describeWindows(open);
    describeConcurrency(open);
    describeAtomicity(open);
    describeIdempotency(open);
    describeCooldowns(open);
    describeHostileKeys(open);
  });
}
