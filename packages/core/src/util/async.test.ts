import { beforeEach, describe, expect, it, vi } from "vitest";
import { repeatByTimer, settlesWithin, shareTimer } from "./async.js";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

describe("settlesWithin", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["resolves", () => Promise.resolve()],
    ["rejects", () => Promise.reject(new Error("no"))],
  ])("is true for what %s in time, and leaves no timer", async (_how, begin) => {
    expect(await settlesWithin(begin(), 1_000)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is false for what does not", async () => {
    const response = settlesWithin(new Promise(() => undefined), 1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await response).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([2 ** 31, Infinity])("waits without a timer for %d ms", async (ms) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const response = settlesWithin(promise, ms);
    expect(vi.getTimerCount()).toBe(0);
    resolve();
    expect(await response).toBe(true);
  });
});

it("shareTimer calls each piece of work every second, first after one to two seconds, with one timer", () => {
  const everySecond = shareTimer(repeatByTimer);
  const calls: string[] = [];
  const stopFirst = everySecond(() => void calls.push("first"));
  vi.advanceTimersByTime(1_000);
  const stopSecond = everySecond(() => void calls.push("second"));
  vi.advanceTimersByTime(1_000);
  expect(calls).toEqual(["first"]);
  vi.advanceTimersByTime(1_000);
  expect(calls).toEqual(["first", "first", "second"]);
  expect(vi.getTimerCount()).toBe(1);
  stopFirst();
  stopSecond();
  vi.advanceTimersByTime(1_000);
  expect([calls.length, vi.getTimerCount()]).toEqual([3, 0]);
});
