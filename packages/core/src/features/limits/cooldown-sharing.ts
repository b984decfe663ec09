import type { Logger } from "../../logger.js";
import type { Cooldown } from "../../types.js";
import { callStore } from "../../util/async.js";
import type { AdmissionStore } from "./store.js";

/** Creates the function that shares the cooldowns of this process with others. */
export function createCooldownSharing(
  store: AdmissionStore,
  logger: Logger,
): (id: string, cooldown: Cooldown | undefined) => void {
  return (id, cooldown) => {
    callStore(() => store.setCooldown(id, cooldown)).catch((err: unknown) => {
      logger.warn({ err }, "The admission store failed; a cooldown is known to this process only.");
    });
  };
}
