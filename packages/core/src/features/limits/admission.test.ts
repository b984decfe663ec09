import { describe, expect, it } from "vitest";
import type { ChannelOptions } from "../../channels/channel.js";
import { createTestGateway } from "../../testing/test-gateway.js";
import { createMemoryLedger } from "../memory-ledger/memory-ledger.js";
import { type AdmissionRefusal, toRefusalError } from "./admission.js";
import { type CallLimits, type LimitSources, toCallLimits } from "./rate-limits.js";
import type { AdmissionDecision } from "./store.js";

const NOW = 1_800_000_000_000;
const DAY_MS = 86_400_000;
const SLOW = { connectSeconds: 1, firstByteSeconds: DAY_MS / 1000, idleSeconds: 2 };

/** Returns the lifetime of the hold of a request to these channels. */
async function findLeaseMs(channels: readonly Partial<ChannelOptions>[]): Promise<number> {
  const lifetimes: number[] = [];
  const own = createMemoryLedger();
  const { post } = createTestGateway(
    undefined,
    {
      models: { doodle: { family: "seedream" } },
      channels: channels.map((channel, index) => ({
        id: `c${index}`,
        family: "seedream",
        apiKey: "k",
        ...channel,
      })),
      ledger: {
        ...own,
        hold: (hold) => {
          expect(hold.expiresAt).toBe(NOW + hold.ttlMs);
          lifetimes.push(hold.ttlMs);
          return own.hold(hold);
        },
      },
    },
    { now: () => NOW },
  );
  expect((await post({ model: "doodle", prompt: "x" })).status).toBe(200);
  return lifetimes[0] ?? 0;
}

describe("the hold of an admitted call", () => {
  it.each<[string, readonly Partial<ChannelOptions>[], number]>([
    ["the timeouts of its channel", [{}], 1_210_000],
    ["the timeouts of the slowest channel", [{}, { timeouts: SLOW }], DAY_MS + 3_000],
    [
      "the timeouts of all channels that may be tried after a timeout",
      [1, 2, 3].map(() => ({ timeouts: SLOW, retryUnsafe: true })),
      3 * DAY_MS,
    ],
  ])("outlives %s", async (_what, channels, ms) => {
    expect(await findLeaseMs(channels)).toBeGreaterThan(ms);
  });
});

const LIMIT_SOURCES = { callerId: "me", callerLimits: {}, model: "m", modelLimits: undefined, leaseMs: 1 };

function limitsOf(sources: Partial<LimitSources>): CallLimits {
  return toCallLimits({ ...LIMIT_SOURCES, maxImages: 4, ...sources });
}

/** A refusal because of the first window. */
function limited(limits: CallLimits, remaining: number, resetMs: number): AdmissionRefusal {
  const [limit] = limits.windows;
  if (limit === undefined) throw new Error("A window is needed.");
  return { kind: "limited", limit, windows: [{ remaining, resetMs }] };
}

function crowded(limits: CallLimits): AdmissionRefusal {
  const [limit] = limits.concurrency;
  if (limit === undefined) throw new Error("A concurrency limit is needed.");
  return { kind: "crowded", limit, windows: [] };
}

describe("toRefusalError", () => {
  const requests = limitsOf({ callerLimits: { requestsPerMinute: 600 } });
  const images = limitsOf({ callerLimits: { imagesPerMinute: 10 } });
  const ofModel = limitsOf({ modelLimits: { requestsPerMinute: 5 } });
  const slots = limitsOf({ callerLimits: { concurrent: 2 } });
  const modelSlots = limitsOf({ modelLimits: { concurrent: 2 } });

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
    [crowded(slots), slots, 1, "The limit of 2 requests at once is reached: try again when one has ended."],
    [
      crowded(modelSlots),
      modelSlots,
      1,
      "The limit of 2 requests at once to the model m is reached: try again when one has ended.",
    ],
  ])("names the limit and the time of the next try in a 429: %#", (refusal, limits, seconds, message) => {
    const error = toRefusalError(refusal, limits);
    expect(error).toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
      retryAfterSeconds: seconds,
      message,
    });
    expect(error.shouldRetry).toBeUndefined();
  });

  it("adds the state of the limits to a 429", () => {
    expect(toRefusalError(limited(requests, 0, 41_001), requests).headers).toEqual({
      "ratelimit-policy": '"requests";q=600;w=60',
      ratelimit: '"requests";r=0;t=42',
      "x-ratelimit-limit-requests": "600",
      "x-ratelimit-remaining-requests": "0",
      "x-ratelimit-reset-requests": "41.001s",
    });
    expect(toRefusalError(crowded(slots), slots).headers).toEqual({
      "ratelimit-policy": '"concurrent";q=2;qu="concurrent-requests"',
      ratelimit: '"concurrent";r=0',
    });
  });

  it("asks for a smaller request if the limit can never admit it", () => {
    const limits = limitsOf({ callerLimits: { imagesPerMinute: 10 }, maxImages: 12 });
    const error = toRefusalError(limited(limits, 10, 0), limits);
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
    "responds to %s with %i",
    (kind, status, code, shouldRetry, retryAfterSeconds) => {
      const error = toRefusalError({ kind }, requests);
      expect(error).toMatchObject({ status, code, shouldRetry, retryAfterSeconds });
    },
  );
});
