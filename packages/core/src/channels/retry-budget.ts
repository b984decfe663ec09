/** Limits retries, so that an outage does not multiply the traffic. */
export interface RetryBudgetPolicy {
  /** Milliseconds. */
  readonly windowMs: number;
  /** Retries in a window, as a share of the requests in it. */
  readonly ratio: number;
  /** The number of retries that are always allowed in a window, even if it has few requests. */
  readonly minimum: number;
}

export const DEFAULT_RETRY_BUDGET: RetryBudgetPolicy = { windowMs: 10_000, ratio: 0.2, minimum: 3 };

/** Counts the requests and retries of each configured model, in this process. */
export interface RetryBudgets {
  /** @param model the model's key in `models`: its name, or the series that its name belongs to */
  countRequest(model: string): void;
  /** Takes one retry from the model's budget. Returns false if the budget is used up. */
  take(model: string): boolean;
  /** Forgets the budgets of all other models, after the configuration has changed. */
  retain(models: readonly string[]): void;
}

interface BudgetWindow {
  start: number;
  requests: number;
  retries: number;
}

export function createRetryBudgets(now: () => number, policy: RetryBudgetPolicy): RetryBudgets {
  const windows = new Map<string, BudgetWindow>();
  const openWindow = (model: string): BudgetWindow => {
    const at = now();
    let window = windows.get(model);
    if (window === undefined || at - window.start >= policy.windowMs) {
      window = { start: at, requests: 0, retries: 0 };
      windows.set(model, window);
    }
    return window;
  };
  return {
    countRequest(model) {
      openWindow(model).requests++;
    },
    take(model) {
      const window = openWindow(model);
      if (window.retries >= Math.max(policy.minimum, window.requests * policy.ratio)) return false;
      window.retries++;
      return true;
    },
    retain(models) {
      const kept = new Set(models);
      for (const model of windows.keys()) if (!kept.has(model)) windows.delete(model);
    },
  };
}
