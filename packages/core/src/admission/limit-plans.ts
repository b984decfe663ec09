import { type LimitSources, type TicketLimits, toTicketLimits } from "./ticket-limits.js";

/** What callers' requests count against, worked out once for requests that are alike. */
export interface LimitPlans {
  find(sources: LimitSources): TicketLimits;
}

interface Plan {
  readonly sources: LimitSources;
  readonly limits: TicketLimits;
}

/** Callers may be any number. */
const MOST_CALLERS = 10_000;

/** Remembers of each caller its latest request to each model. */
export function createLimitPlans(): LimitPlans {
  const byModel = new Map<string, Map<string, Plan>>();
  return {
    find(sources) {
      const { model, callerId } = sources;
      let plans = byModel.get(model);
      if (plans === undefined) byModel.set(model, (plans = new Map()));
      const known = plans.get(callerId);
      if (known !== undefined && isAlike(known.sources, sources)) return known.limits;
      if (plans.size >= MOST_CALLERS) plans.clear();
      const limits = toTicketLimits(sources);
      plans.set(callerId, { sources, limits });
      return limits;
    },
  };
}

/** The operator may give a caller other limits at each request. */
function isAlike(one: LimitSources, other: LimitSources): boolean {
  return (
    one.maxImages === other.maxImages &&
    one.leaseMs === other.leaseMs &&
    hasSameLimits(one.callerLimits, other.callerLimits) &&
    hasSameLimits(one.modelLimits, other.modelLimits)
  );
}

function hasSameLimits(one: LimitSources["modelLimits"], other: LimitSources["modelLimits"]): boolean {
  return (
    one?.requestsPerMinute === other?.requestsPerMinute &&
    one?.imagesPerMinute === other?.imagesPerMinute &&
    one?.concurrent === other?.concurrent
  );
}
