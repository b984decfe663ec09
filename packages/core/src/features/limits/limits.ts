import * as z from "zod/mini";
import type { Contribution, Feature } from "../../kernel/feature.js";
import type { Logger } from "../../logger.js";
import { DEFAULTS, type IdempotencyOptions, withDefaults } from "../../options/options.js";
import { checkFeatureOptions } from "../../options/problems.js";
import { limitOptions } from "../../options/schema.js";
import type { CallerLimits } from "../../types.js";
import { callStore } from "../../util/async.js";
import { createAdmission } from "./admit.js";
import { createMemoryAdmissionStore } from "./memory-store.js";
import type { AdmissionStore } from "./store.js";

const schema = z.strictObject(limitOptions, "must be an object");

/** The options of {@link limits}. Each means what it means for `createGateway`. */
export interface LimitsOptions {
  /** The limits of callers that have none of their own. Default: none. */
  readonly limits?: CallerLimits | undefined;
  /** Stores the counters of limits, idempotency keys and cooldowns. Default: in the memory of this process. */
  readonly admission?: AdmissionStore | undefined;
  /** How long responses are stored for repeated requests, and up to which size. */
  readonly idempotency?: { readonly [Name in keyof IdempotencyOptions]?: number | undefined } | undefined;
}

/** Creates what tells other processes about the cooldowns of this one. */
export function createCooldownSharing(
  store: AdmissionStore,
  logger: Logger,
): NonNullable<Contribution["shareCooldown"]> {
  return (id, cooldown) => {
    callStore(() => store.setCooldown(id, cooldown)).catch((err: unknown) => {
      logger.warn({ err }, "The admission store failed; a cooldown is known to this process only.");
    });
  };
}

/** Limits of callers, idempotency keys, and cooldowns that several processes share, in one call of the store. */
export function limits(options: LimitsOptions = {}): Feature {
  return {
    name: "limits",
    setup({ now, logger, health }) {
      checkFeatureOptions(schema, options);
      const { limits: ofGateway, admission: admissionStore = createMemoryAdmissionStore({ now }) } = options;
      const idempotency = withDefaults(DEFAULTS.idempotency, options.idempotency);
      return {
        admission: createAdmission({ admissionStore, logger, health, limits: ofGateway, idempotency }),
        shareCooldown: createCooldownSharing(admissionStore, logger),
      };
    },
  };
}
