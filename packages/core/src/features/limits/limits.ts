import * as z from "zod/mini";
import type { Feature } from "../../kernel/feature.js";
import { DEFAULTS, type IdempotencyOptions, withDefaults } from "../../options/options.js";
import { checkFeatureOptions } from "../../options/problems.js";
import type { CallerLimits } from "../../types.js";
import { createAdmission } from "./admission.js";
import { createCooldownSharing } from "./cooldown-sharing.js";
import { limitOptions } from "./limits-schema.js";
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
