import { array, assert, boolean, integer, property, record } from "fast-check";
import { describe, expect, it } from "vitest";
import { createRetryBudgets, DEFAULT_RETRY_BUDGET } from "./retry-budget.js";

describe("createRetryBudgets", () => {
  it("allows three retries in a window with one request", () => {
    const budget = createRetryBudgets(() => 0, DEFAULT_RETRY_BUDGET);
    budget.countRequest("m");
    expect([1, 2, 3, 4].map(() => budget.take("m"))).toEqual([true, true, true, false]);
  });

  it("allows three again in the next window", () => {
    let now = 20_000;
    const budget = createRetryBudgets(() => now, DEFAULT_RETRY_BUDGET);
    for (let taken = 0; taken < 5; taken++) budget.take("m");
    now += DEFAULT_RETRY_BUDGET.windowMs;
    expect(budget.take("m")).toBe(true);
  });

  it("allows at most a fifth of the traffic, or three, if everything fails", () => {
    const steps = array(record({ isRequest: boolean(), waitMs: integer({ min: 0, max: 30 }) }), {
      maxLength: 500,
    });
    assert(
      property(steps, (list) => {
        let now = 50_000;
        const budget = createRetryBudgets(() => now, { ...DEFAULT_RETRY_BUDGET, windowMs: 1_000_000 });
        let requests = 0;
        let retries = 0;
        for (const { isRequest, waitMs } of list) {
          now += waitMs;
          if (isRequest) {
            budget.countRequest("m");
            requests++;
          } else if (budget.take("m")) retries++;
        }
        expect(retries).toBeLessThanOrEqual(Math.max(3, Math.ceil(requests * 0.2)));
      }),
    );
  });

  it("is separate for each model", () => {
    const budget = createRetryBudgets(() => 0, DEFAULT_RETRY_BUDGET);
    while (budget.take("x"));
    expect(budget.take("y")).toBe(true);
  });

  it("is forgotten when its model is removed", () => {
    const budget = createRetryBudgets(() => 0, DEFAULT_RETRY_BUDGET);
    while (budget.take("x"));
    budget.retain(["x"]);
    expect(budget.take("x")).toBe(false);
    budget.retain(["y"]);
    expect(budget.take("x")).toBe(true);
  });
});
