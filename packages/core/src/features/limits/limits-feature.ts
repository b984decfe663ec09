import * as z from "zod/mini";
import { findAbility } from "../../billing/ledger-ability.js";
import type { Feature } from "../../kernel/feature.js";
import type { Logger } from "../../logger.js";
import { DEFAULTS, type IdempotencyOptions, withDefaults } from "../../options/options.js";
import { checkFeatureOptions } from "../../options/problems.js";
import type { CallerLimits, Cooldown } from "../../types.js";
import { callStore } from "../../util/async.js";
import { createAdmission } from "./admission.js";
import { limitOptions } from "./limits-schema.js";
import { createMemoryAdmissionStore } from "./memory-store.js";
import { createLimitReports, type LimitReports } from "./read-limits.js";
import { type AdmissionStore, TURN_STORE } from "./store.js";
import { createOwnTurns } from "./turns.js";
import { DEFAULT_WAITING, type WaitingOptions, WaitingRequests } from "./waiting-requests.js";

/** The options of {@link limits}. Each means what it means for `createGateway`. */
export interface LimitsOptions {
  /** The limits of callers that have none of their own. Default: none. */
  readonly limits?: CallerLimits | undefined;
  /** Stores the counters of limits, idempotency keys and cooldowns. Default: in the memory of this process. */
  readonly admission?: AdmissionStore | undefined;
  /** How long responses are stored for repeated requests, and up to which size. */
  readonly idempotency?: { readonly [Name in keyof IdempotencyOptions]?: number | undefined } | undefined;
  /** How many requests may wait for their limits in this process. */
  readonly waiting?: { readonly [Name in keyof WaitingOptions]?: number | undefined } | undefined;
}

/** What {@link limits} adds to a gateway. */
export interface LimitsApi {
  /** How close callers are to their limits. Read-only. */
  readonly limits: LimitReports;
}

/**
 * Limits of callers, idempotency keys, and cooldowns that several processes share, in one call of the store.
 *
 * @throws GatewayOptionsError
 */
export function limits(options: LimitsOptions = {}): Feature<LimitsApi> {
  checkFeatureOptions(z.strictObject(limitOptions, "must be an object"), options);
  return createLimitsFeature(options);
}

/** @param options validated */
export function createLimitsFeature(options: LimitsOptions): Feature<LimitsApi> {
  return {
    name: "limits",
    setup(kernel) {
      const { now, sleep, logger, health, contributed } = kernel;
      const { limits: ofGateway, admission: admissionStore = createMemoryAdmissionStore({ now }) } = options;
      const idempotency = withDefaults(DEFAULTS.idempotency, options.idempotency);
      const turnStore = findAbility(admissionStore, TURN_STORE) ?? createOwnTurns(admissionStore, now);
      const bounds = withDefaults(DEFAULT_WAITING, options.waiting);
      const waiting = new WaitingRequests({ ...bounds, store: turnStore, logger, now, sleep });
      return {
        chores: [{ stop: () => waiting.close() }],
        admission: createAdmission({
          admissionStore,
          turnStore,
          waiting,
          maxWaiting: Math.min(bounds.maxRequests, bounds.maxRequestsPerCaller),
          logger,
          now,
          health,
          pauses: () => contributed().pauses,
          limits: ofGateway,
          idempotency,
        }),
        shareCooldown: createCooldownSharing(admissionStore, logger),
        api: { limits: createLimitReports(kernel, admissionStore, ofGateway) },
      };
    },
  };
}

/** Creates the function that shares the cooldowns of this process with others. */
function createCooldownSharing(
  store: AdmissionStore,
  logger: Logger,
): (id: string, cooldown: Cooldown | undefined) => void {
  return (id, cooldown) => {
    callStore(() => store.setCooldown(id, cooldown)).catch((err: unknown) => {
      logger.warn({ err }, "The admission store failed; a cooldown is known to this process only.");
    });
  };
}
