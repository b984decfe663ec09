import { beforeEach, describe, expect, it, vi } from "vitest";
import { createSweeper } from "./sweeper.js";

const HOUR_MS = 3_600_000;

function create(sweep: (before: Date) => Promise<void>, random = 0.5) {
  const logs: string[] = [];
  const log = (_fields: object, message: string): void => void logs.push(message);
  const logger = { warn: log, error: log };
  const sweeper = createSweeper(sweep, { now: Date.now, random: () => random, logger });
  /** Calls the sweeper every ten seconds, as maintenance does. */
  const runFor = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 10_000) {
      sweeper.begin();
      await vi.advanceTimersByTimeAsync(10_000);
    }
  };
  return { sweeper, runFor, logs };
}

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

describe("a sweeper", () => {
  it("sweeps at once, and then about once an hour, with the current time", async () => {
    const sweep = vi.fn<(before: Date) => Promise<void>>(async () => {});
    const { runFor } = create(sweep);
    const start = Date.now();
    await runFor(3 * HOUR_MS);
    expect(sweep.mock.calls.map(([before]) => before.getTime() - start)).toEqual([0, HOUR_MS, 2 * HOUR_MS]);
  });

  it.each([
    [0, 0.9],
    [0.999_999, 1.1],
  ])("spreads the sweeps of processes: %d gives %d hours", async (random, hours) => {
    const sweep = vi.fn<(before: Date) => Promise<void>>(async () => {});
    const { runFor } = create(sweep, random);
    await runFor(hours * HOUR_MS - 20_000);
    expect(sweep).toHaveBeenCalledTimes(1);
    await runFor(40_000);
    expect(sweep).toHaveBeenCalledTimes(2);
  });

  it("never sweeps twice at the same time", async () => {
    const ended = Promise.withResolvers<void>();
    const sweep = vi.fn<(before: Date) => Promise<void>>(() => ended.promise);
    const { runFor } = create(sweep);
    // A process that has run for longer than a sweep may take.
    await vi.advanceTimersByTimeAsync(30 * HOUR_MS);
    await runFor(5 * HOUR_MS);
    expect(sweep).toHaveBeenCalledTimes(1);
    ended.resolve();
    await runFor(10_000);
    await runFor(10_000);
    expect(sweep).toHaveBeenCalledTimes(2);
  });

  it("gives up a sweep that has not ended within a day", async () => {
    const sweep = vi.fn<(before: Date) => Promise<void>>(() => new Promise(() => {}));
    const { runFor } = create(sweep);
    await runFor(24 * HOUR_MS + 20_000);
    expect(sweep).toHaveBeenCalledTimes(2);
  });

  it("logs a failure once, and again after a success", async () => {
    const sweep = vi
      .fn<(before: Date) => Promise<void>>(async () => {})
      .mockRejectedValueOnce(new Error("one"))
      .mockRejectedValueOnce(new Error("two"))
      .mockResolvedValueOnce()
      .mockRejectedValueOnce(new Error("three"));
    const { runFor, logs } = create(sweep);
    await runFor(2 * HOUR_MS);
    expect(sweep).toHaveBeenCalledTimes(2);
    expect(logs).toHaveLength(1);
    await runFor(3 * HOUR_MS);
    expect(sweep).toHaveBeenCalledTimes(5);
    expect(logs).toHaveLength(2);
  });

  it("survives a store that throws instead of rejecting", async () => {
    const { runFor, logs } = create(() => {
      throw new Error("not a promise");
    });
    await runFor(10_000);
    expect(logs).toHaveLength(1);
  });

  it("can be waited for", async () => {
    const ended = Promise.withResolvers<void>();
    const { sweeper } = create(() => ended.promise);
    const onFinished = vi.fn<() => void>();
    sweeper.begin();
    void sweeper.idle().then(onFinished);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(onFinished).not.toHaveBeenCalled();
    ended.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(onFinished).toHaveBeenCalled();
  });
});
