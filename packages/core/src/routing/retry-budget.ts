/** How much may be sent again, so that an outage is not answered with a multiple of the traffic. */
export interface RetryBudgetPolicy {
  readonly windowMs: number;
  /** Retries in a window, as a share of the requests in it. */
  readonly ratio: number;
  /** So many are allowed in a window however few requests it has. */
  readonly minimum: number;
}

export const DEFAULT_RETRY_BUDGET: RetryBudgetPolicy = { windowMs: 10_000, ratio: 0.2, minimum: 3 };

/** Counts requests and retries. */
export interface RetryBudget {
  countRequest(): void;
  /** Takes one retry from the budget; false when it is used up. */
  take(): boolean;
}

/** A budget of retries, in this process. */
export function createRetryBudget(now: () => number, policy: RetryBudgetPolicy): RetryBudget {
  let windowStart = 0;
  let requests = 0;
  let retries = 0;
  const openWindow = (): void => {
    if (now() - windowStart < policy.windowMs) return;
    windowStart = now();
    requests = 0;
    retries = 0;
  };
  return {
    countRequest() {
      openWindow();
      requests++;
    },
    take() {
      openWindow();
      if (retries >= Math.max(policy.minimum, requests * policy.ratio)) return false;
      retries++;
      return true;
    },
  };
}
