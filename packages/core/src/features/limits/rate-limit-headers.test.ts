import { describe, expect, it } from "vitest";
import { addRateLimits } from "./rate-limit-headers.js";
import { toCallLimits } from "./rate-limits.js";
import type { WindowState } from "./store.js";

const SOURCES = { callerId: "me", model: "m", modelLimits: undefined, maxImages: 2, leaseMs: 1 };
const REQUESTS = toCallLimits({ ...SOURCES, callerLimits: { requestsPerMinute: 600 } });

describe("addRateLimits", () => {
  it("adds nothing without limits", () => {
    const none = toCallLimits({ ...SOURCES, callerLimits: {} });
    expect(addRateLimits({}, none, { windows: [] })).toEqual({});
  });

  it("adds the headers of the draft and those of OpenAI", () => {
    expect(addRateLimits({}, REQUESTS, { windows: [{ remaining: 599, resetMs: 41_001 }] })).toEqual({
      "ratelimit-policy": '"requests";q=600;w=60',
      ratelimit: '"requests";r=599;t=42',
      "x-ratelimit-limit-requests": "600",
      "x-ratelimit-remaining-requests": "599",
      "x-ratelimit-reset-requests": "41.001s",
    });
  });

  it("names each limit, and shows the tighter of two limits of a kind in the x- headers", () => {
    const limits = toCallLimits({
      ...SOURCES,
      callerLimits: { requestsPerMinute: 600, imagesPerMinute: 20, concurrent: 8 },
      modelLimits: { requestsPerMinute: 30, imagesPerMinute: 40, concurrent: 2 },
    });
    const windows = [
      { remaining: 100, resetMs: 1_000 },
      { remaining: 3, resetMs: 2_000 },
      { remaining: 7, resetMs: 3_000 },
      { remaining: 38, resetMs: 4_000 },
    ];
    expect(addRateLimits({}, limits, { windows })).toEqual({
      "ratelimit-policy": [
        '"requests";q=600;w=60',
        '"images";q=20;qu="images";w=60',
        '"model-requests";q=30;w=60',
        '"model-images";q=40;qu="images";w=60',
        '"concurrent";q=8;qu="concurrent-requests"',
        '"model-concurrent";q=2;qu="concurrent-requests"',
      ].join(", "),
      ratelimit: [
        '"requests";r=100;t=1',
        '"images";r=3;t=2',
        '"model-requests";r=7;t=3',
        '"model-images";r=38;t=4',
      ].join(", "),
      "x-ratelimit-limit-requests": "30",
      "x-ratelimit-remaining-requests": "7",
      "x-ratelimit-reset-requests": "3s",
      "x-ratelimit-limit-images": "20",
      "x-ratelimit-remaining-images": "3",
      "x-ratelimit-reset-images": "2s",
    });
  });

  it("shows the limit that ends later if two limits have the same number left", () => {
    const limits = toCallLimits({
      ...SOURCES,
      callerLimits: { requestsPerMinute: 600 },
      modelLimits: { requestsPerMinute: 30 },
    });
    const windows = [
      { remaining: 0, resetMs: 1_000 },
      { remaining: 0, resetMs: 3_000 },
    ];
    expect(addRateLimits({}, limits, { windows })["x-ratelimit-reset-requests"]).toBe("3s");
  });

  it("shows a concurrency limit that is reached without a time", () => {
    const limits = toCallLimits({ ...SOURCES, callerLimits: { concurrent: 8 } });
    const [crowded] = limits.concurrency;
    expect(addRateLimits({}, limits, { windows: [], crowded })).toEqual({
      "ratelimit-policy": '"concurrent";q=8;qu="concurrent-requests"',
      ratelimit: '"concurrent";r=0',
    });
  });

  it.each([
    [0, "0s"],
    [0.2, "1ms"],
    [20, "20ms"],
    [999, "999ms"],
    [1_000, "1s"],
    [1_500, "1.5s"],
    [59_999, "59.999s"],
    [360_000, "6m0s"],
    [90_250, "1m30.25s"],
    [3_600_000, "1h0m0s"],
    [90_061_000, "25h1m1s"],
  ])("writes %d ms as %s", (resetMs, expected) => {
    const windows: WindowState[] = [{ remaining: 1, resetMs }];
    expect(addRateLimits({}, REQUESTS, { windows })["x-ratelimit-reset-requests"]).toBe(expected);
  });

  it("writes no number above the largest integer of structured fields", () => {
    const huge = toCallLimits({ ...SOURCES, callerLimits: { requestsPerMinute: 1e21 } });
    const headers = addRateLimits({}, huge, { windows: [{ remaining: 1e21, resetMs: 60_000 }] });
    expect(headers["ratelimit-policy"]).toBe('"requests";q=999999999999999;w=60');
    expect(headers["ratelimit"]).toBe('"requests";r=999999999999999;t=60');
  });
});
