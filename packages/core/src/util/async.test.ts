import { beforeEach, describe, expect, it, vi } from "vitest";
import { settlesWithin } from "./async.js";

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
