import { array, assert, boolean, integer, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { createRetryBudget, DEFAULT_RETRY_BUDGET } from "./retry-budget.js";

describe("createRetryBudget", () => {
  it("allows three retries in a window with one request", () => {
    const budget = createRetryBudget(() => 0, DEFAULT_RETRY_BUDGET);
    budget.countRequest();
    expect([1, 2, 3, 4].map(() => budget.take())).toEqual([true, true, true, false]);
  });

  it("allows three again in the next window", () => {
    let now = 20_000;
    const budget = createRetryBudget(() => now, DEFAULT_RETRY_BUDGET);
    for (let taken = 0; taken < 5; taken++) budget.take();
    now += DEFAULT_RETRY_BUDGET.windowMs;
    expect(budget.take()).toBe(true);
  });

  it("when everything fails, sends at most a fifth more than the traffic, or three", () => {
    const steps = array(record({ isRequest: boolean(), waitMs: integer({ min: 0, max: 30 }) }), {
      maxLength: 500,
    });
    assert(
      property(steps, (list) => {
        let now = 50_000;
        const budget = createRetryBudget(() => now, { ...DEFAULT_RETRY_BUDGET, windowMs: 1_000_000 });
        let requests = 0;
        let retries = 0;
        for (const { isRequest, waitMs } of list) {
          now += waitMs;
          if (isRequest) {
            budget.countRequest();
            requests++;
          } else if (budget.take()) retries++;
        }
        expect(retries).toBeLessThanOrEqual(Math.max(3, Math.ceil(requests * 0.2)));
      }),
    );
  });
});
