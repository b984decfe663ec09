import { describe, expect, it } from "vitest";
import { createLimitPlans, type LimitSources, toCallLimits } from "./rate-limits.js";

const SOURCES: LimitSources = {
  callerId: "me",
  callerLimits: { requestsPerMinute: 60, imagesPerMinute: 10, concurrent: 2 },
  model: "m",
  modelLimits: { requestsPerMinute: 5 },
  maxImages: 4,
  leaseMs: 900_000,
};

describe("the limits of a request", () => {
  it("are worked out once for requests that are alike", () => {
    const plans = createLimitPlans();
    expect(plans.find({ ...SOURCES })).toBe(plans.find({ ...SOURCES }));
  });

  it.each<[string, Partial<LimitSources>]>([
    ["another caller", { callerId: "you" }],
    ["another model", { model: "n" }],
    ["more images", { maxImages: 5 }],
    ["a longer lease", { leaseMs: 900_001 }],
    ["other requests a minute", { callerLimits: { ...SOURCES.callerLimits, requestsPerMinute: 61 } }],
    ["no images a minute", { callerLimits: { ...SOURCES.callerLimits, imagesPerMinute: null } }],
    ["fewer at once", { callerLimits: { ...SOURCES.callerLimits, concurrent: 1 } }],
    ["a model without limits", { modelLimits: undefined }],
    ["a model with others", { modelLimits: { concurrent: 3 } }],
  ])("are those of %s, there and back", (_what, changed) => {
    const plans = createLimitPlans();
    for (const sources of [SOURCES, { ...SOURCES, ...changed }, SOURCES]) {
      expect(plans.find(sources)).toEqual(toCallLimits(sources));
    }
  });

  it("are right however many callers there are", () => {
    const plans = createLimitPlans();
    for (let index = 0; index < 10_100; index++) plans.find({ ...SOURCES, callerId: String(index) });
    expect(plans.find(SOURCES)).toEqual(toCallLimits(SOURCES));
  });
});
