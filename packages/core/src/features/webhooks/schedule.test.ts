import { describe, expect, it } from "vitest";
import { MAX_RETRY_AFTER_MS, planNext, RETRY_DELAYS_MS, type SendResult } from "./schedule.js";

const failed = (retryAfterMs?: number): SendResult => ({ kind: "failed", error: "down", retryAfterMs });
const HOUR_MS = 3_600_000;
const none = (): number => 0;
const almostOne = (): number => 1 - Number.EPSILON;

describe("after an attempt", () => {
  it.each([
    [0, 5_000],
    [1, 300_000],
    [2, 1_800_000],
    [3, 7_200_000],
    [4, 18_000_000],
    [5, 36_000_000],
    [6, 36_000_000],
  ])(
    "that failed, number %i from 0, the next one comes after %i ms or up to a tenth later",
    (attempts, delayMs) => {
      expect(planNext(failed(), attempts, none)).toEqual({ kind: "retry", delayMs, error: "down" });
      expect(planNext(failed(), attempts, almostOne)).toMatchObject({ delayMs: Math.round(delayMs * 1.1) });
    },
  );

  it("that failed, number 7, the message is given up", () => {
    expect(planNext(failed(), 7, none)).toEqual({ kind: "given_up", error: "down" });
    expect(planNext(failed(1_000), 7, none)).toEqual({ kind: "given_up", error: "down" });
  });

  it("all attempts together span more than a day", () => {
    const totalMs = RETRY_DELAYS_MS.reduce((sum, ms) => sum + ms, 0);
    expect(totalMs).toBeGreaterThan(24 * HOUR_MS);
    expect(totalMs * 1.1).toBeLessThan(31 * HOUR_MS);
  });

  it.each<[number, number, number]>([
    [0, 60_000, 60_000],
    [0, 1_000, 5_000],
    [0, 24 * HOUR_MS, MAX_RETRY_AFTER_MS],
    [5, 60_000, 10 * HOUR_MS],
    [0, Number.MAX_SAFE_INTEGER, MAX_RETRY_AFTER_MS],
  ])(
    "number %i, an endpoint that asks to wait for %i ms is sent to after %i ms",
    (attempts, askedMs, delayMs) => {
      expect(planNext(failed(askedMs), attempts, none)).toMatchObject({ kind: "retry", delayMs });
    },
  );

  it.each<[SendResult, object]>([
    [{ kind: "delivered" }, { kind: "delivered" }],
    [
      { kind: "gone", error: "410" },
      { kind: "given_up", error: "410" },
    ],
    [
      { kind: "unknown", error: "no endpoint" },
      { kind: "given_up", error: "no endpoint" },
    ],
  ])("%j is final", (result, next) => {
    expect(planNext(result, 0, none)).toEqual(next);
  });
});
