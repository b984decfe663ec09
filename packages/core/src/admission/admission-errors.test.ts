import { describe, expect, it } from "vitest";
import { type Refusal, toDecisionError } from "./admit.js";
import { type CallLimits, type LimitSources, toCallLimits } from "./rate-limits.js";
import type { AdmissionDecision } from "./store.js";

const SOURCES = { callerId: "me", callerLimits: {}, model: "m", modelLimits: undefined, leaseMs: 1 };

function limitsOf(sources: Partial<LimitSources>): CallLimits {
  return toCallLimits({ ...SOURCES, maxImages: 4, ...sources });
}

/** The refusal by the first window of the limits. */
function limited(limits: CallLimits, remaining: number, resetMs: number): Refusal {
  const [limit] = limits.windows;
  if (limit === undefined) throw new Error("A window is needed.");
  return { kind: "limited", limit, windows: [{ remaining, resetMs }] };
}

function crowded(limits: CallLimits): Refusal {
  const [limit] = limits.concurrency;
  if (limit === undefined) throw new Error("A place is needed.");
  return { kind: "crowded", limit, windows: [] };
}

describe("toDecisionError", () => {
  const requests = limitsOf({ callerLimits: { requestsPerMinute: 600 } });
  const images = limitsOf({ callerLimits: { imagesPerMinute: 10 } });
  const ofModel = limitsOf({ modelLimits: { requestsPerMinute: 5 } });
  const places = limitsOf({ callerLimits: { concurrent: 2 } });
  const modelPlaces = limitsOf({ modelLimits: { concurrent: 2 } });

  it.each([
    [
      limited(requests, 0, 41_001),
      requests,
      42,
      "The limit of 600 requests per minute is reached: try again in 42 s.",
    ],
    [
      limited(requests, 0, 1),
      requests,
      1,
      "The limit of 600 requests per minute is reached: try again in 1 s.",
    ],
    [
      limited(images, 3, 9_000),
      images,
      9,
      "The limit of 10 images per minute is reached (this request may make 4, 3 are left): try again in 9 s.",
    ],
    [
      limited(ofModel, 0, 60_000),
      ofModel,
      60,
      "The limit of 5 requests per minute to the model m is reached: try again in 60 s.",
    ],
    [crowded(places), places, 1, "The limit of 2 requests at once is reached: try again when one has ended."],
    [
      crowded(modelPlaces),
      modelPlaces,
      1,
      "The limit of 2 requests at once to the model m is reached: try again when one has ended.",
    ],
  ])("a 429 says which limit, and when to come again: %#", (refusal, limits, seconds, message) => {
    const error = toDecisionError(refusal, limits);
    expect(error).toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
      retryAfterSeconds: seconds,
      message,
    });
    expect(error.shouldRetry).toBeUndefined();
  });

  it("a 429 shows the limits", () => {
    expect(toDecisionError(limited(requests, 0, 41_001), requests).headers).toEqual({
      "ratelimit-policy": '"requests";q=600;w=60',
      ratelimit: '"requests";r=0;t=42',
      "x-ratelimit-limit-requests": "600",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "41.001s",
    });
    expect(toDecisionError(crowded(places), places).headers).toEqual({
      "ratelimit-policy": '"concurrent";q=2;qu="concurrent-requests"',
      ratelimit: '"concurrent";r=0',
    });
  });

  it("a request that is more than the limit is told to be smaller, not to come again", () => {
    const limits = limitsOf({ callerLimits: { imagesPerMinute: 10 }, maxImages: 12 });
    const error = toDecisionError(limited(limits, 10, 0), limits);
    expect(error).toMatchObject({
      status: 429,
      shouldRetry: false,
      message: "This request may make 12 images, and 10 images per minute are allowed: ask for fewer.",
    });
    expect(error.retryAfterSeconds).toBeUndefined();
  });

  it.each([
    ["conflict", 422, "idempotency_conflict", false, undefined],
    ["running", 409, "idempotency_in_progress", undefined, 10],
    ["not_replayable", 409, "idempotency_not_replayable", false, undefined],
  ] satisfies [AdmissionDecision["kind"], number, string, false | undefined, number | undefined][])(
    "%s is a %i",
    (kind, status, code, shouldRetry, retryAfterSeconds) => {
      const error = toDecisionError({ kind }, requests);
      expect(error).toMatchObject({ status, code, shouldRetry, retryAfterSeconds });
    },
  );
});
