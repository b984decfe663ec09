import { hashApiKey } from "../../auth/api-key.js";
import type { FindCaller } from "../../auth/authenticate.js";
import { PERIOD_NEEDS_STORE } from "../../auth/check-caller.js";
import { hasPeriod } from "../../billing/budget.js";
import { findAbility } from "../../billing/ledger-ability.js";
import { DEFAULT_GROUP } from "../../billing/model-details.js";
import type { Configuring, Feature } from "../../kernel/feature.js";
import type { Logger } from "../../logger.js";
import type { RelatedOptions } from "../../options/options.js";
import type { Caller } from "../../types.js";
import { isPromiseLike } from "../../util/async.js";
import { CALLER_STORE } from "./caller-store.js";
import { type Callers, createCallers, type StoredCallerRules } from "./callers.js";
import { createStoredCallers, type StoredCallers } from "./stored-callers.js";

/** What {@link callers} adds to a gateway. */
export interface CallersApi {
  /** Creates, changes and revokes callers at run time, in addition to those of the options. */
  readonly callers: Callers;
}

/** Callers that are created, changed and revoked at run time. The ledger must keep them. */
export function callers(): Feature<CallersApi> {
  return {
    name: "callers",
    setup({ ledger, logger, load }) {
      const store = findAbility(ledger, CALLER_STORE);
      const stored = store && createStoredCallers({ store, logger });
      return {
        configure: (configured) => ({
          findCaller: stored && createFindStored(stored, toRules(configured), logger),
        }),
        chores: stored && [{ stop: () => stored.close() }],
        api: {
          callers: createCallers({
            store,
            loadRules: async () => toRules(await load()),
            onChange: (id) => stored?.forget(id),
          }),
        },
      };
    },
  };
}

function toRules({
  options: { callers: fixed = [], billing },
  callerRules,
}: Pick<Configuring<RelatedOptions>, "options" | "callerRules">): StoredCallerRules {
  return {
    canKeepPeriods: callerRules.canKeepPeriods,
    fixedIds: new Set(fixed.map(({ id }) => id)),
    fixed: fixed.map(({ key: _key, hash: _hash, ...caller }) => caller),
    groups: billing && new Set(Object.keys(billing.group_ratio ?? { [DEFAULT_GROUP]: "1" })),
  };
}

/** Finds stored callers that the options allow. */
function createFindStored(
  stored: StoredCallers,
  { fixedIds, groups, canKeepPeriods }: StoredCallerRules,
  logger: Logger,
): FindCaller {
  const admit = (caller: Caller | undefined): Caller | undefined => {
    if (caller === undefined) return undefined;
    const { id, budget } = caller;
    if (fixedIds.has(id)) {
      logger.warn(
        { caller: id },
        "A stored caller has the id of a caller of the options, so its key is refused.",
      );
      return undefined;
    }
    if (!canKeepPeriods && hasPeriod(budget)) {
      throw new TypeError(
        `The stored caller ${JSON.stringify(id)} has a budget.period, which ${PERIOD_NEEDS_STORE}.`,
      );
    }
    if (groups !== undefined || budget === undefined) return caller;
    throw new TypeError(
      `The stored caller ${JSON.stringify(id)} has a budget, which needs the option billing; without prices the budget would have no effect.`,
    );
  };
  return (apiKey) => {
    const found = stored.find(hashApiKey(apiKey));
    return isPromiseLike(found) ? found.then(admit) : admit(found);
  };
}
