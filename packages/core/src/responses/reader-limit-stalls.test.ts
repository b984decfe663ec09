import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createStallWatch, HEARD, type StallWatch, type Watched } from "./reader-limit.js";

const LOOK_MS = 250;

let now = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  now = 5_000.7;
  vi.spyOn(performance, "now").mockImplementation(() => now);
});

afterEach(() => {
  // In this order: a spy on a timer that was restored would bring it back.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Lets this number of looks happen, one every `everyMs`. */
function look(times: number, everyMs = LOOK_MS): void {
  for (let count = 0; count < times; count++) {
    now += everyMs;
    vi.advanceTimersByTime(LOOK_MS);
  }
}

interface Exchange extends Watched {
  readonly leave: () => void;
  /** When it was timed out. */
  readonly timedOutAt: () => number | undefined;
}

function begin(watch: StallWatch, maxQuietMs: number): Exchange {
  let timedOutAt: number | undefined;
  const leave = (): void => watch.delete(link);
  const exchange = {
    quietSince: HEARD,
    maxQuietMs,
    leave,
    timedOutAt: () => timedOutAt,
    timeOut() {
      timedOutAt ??= now;
      leave();
    },
  };
  const link = watch.add(exchange);
  return exchange;
}

/** Those that keep the process alive. */
function countTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

describe("an entry that stalls", () => {
  it.each(
    [1, 100, 249, 250, 251, 499, 500, 501, 1_000, 60_000, 900_000].flatMap((maxQuietMs) =>
      [0, 0.4, 1, 125, 249.5].map((heardMs) => [maxQuietMs, heardMs] as const),
    ),
  )("is failed after %d ms, up to two looks late, when heard %d ms after a look", (maxQuietMs, heardMs) => {
    const watch = createStallWatch();
    const exchange = begin(watch, maxQuietMs);
    for (let count = 0; count < 3; count++) {
      look(1);
      exchange.quietSince = HEARD;
    }
    const heardAt = now + heardMs;
    look(maxQuietMs / LOOK_MS + 3);
    const quietMs = (exchange.timedOutAt() ?? Number.NaN) - heardAt;
    expect(quietMs).toBeGreaterThanOrEqual(maxQuietMs);
    expect(quietMs).toBeLessThanOrEqual(maxQuietMs + 2 * LOOK_MS);
  });

  it("times out no later if each look is late", () => {
    const beganAt = now;
    const exchange = begin(createStallWatch(), 900_000);
    look(3_200, 300.3);
    expect((exchange.timedOutAt() ?? Number.NaN) - beganAt).toBeGreaterThanOrEqual(900_000);
    expect((exchange.timedOutAt() ?? Number.NaN) - beganAt).toBeLessThanOrEqual(900_000 + 2 * 301);
  });

  it("does not time out while the event loop is blocked", () => {
    const exchange = begin(createStallWatch(), 1_000);
    look(2);
    look(1, 60_000);
    expect(exchange.timedOutAt()).toBeUndefined();
    exchange.quietSince = HEARD;
    look(4);
    expect(exchange.timedOutAt()).toBeUndefined();
    look(2);
    expect(exchange.timedOutAt()).toBeDefined();
  });

  it("times out alone, while others continue", () => {
    const watch = createStallWatch();
    const lively = begin(watch, 1_000);
    const stalled = [begin(watch, 1_000), begin(watch, 1_000), begin(watch, 1_000)];
    const patient = begin(watch, 3_000);
    for (let count = 0; count < 6; count++) {
      look(1);
      lively.quietSince = HEARD;
    }
    expect(stalled.map(({ timedOutAt }) => timedOutAt() !== undefined)).toEqual([true, true, true]);
    expect([lively.timedOutAt(), patient.timedOutAt()]).toEqual([undefined, undefined]);
  });
});

describe("an entry", () => {
  it("does not time out while no progress is expected, and then has the whole time", () => {
    const exchange = begin(createStallWatch(), 1_000);
    look(3);
    exchange.maxQuietMs = 0;
    look(100);
    exchange.maxQuietMs = 1_000;
    exchange.quietSince = HEARD;
    look(5);
    expect(exchange.timedOutAt()).toBeUndefined();
    look(1);
    expect(exchange.timedOutAt()).toBeDefined();
  });

  it("does not time out after it was deleted", () => {
    const watch = createStallWatch();
    const exchange = begin(watch, 1_000);
    begin(watch, 0);
    exchange.leave();
    look(20);
    expect(exchange.timedOutAt()).toBeUndefined();
  });
});

describe("the timer of a watch", () => {
  it("serves all entries, and ends with the last one", () => {
    const watch = createStallWatch();
    expect(vi.getTimerCount()).toBe(0);
    for (let round = 0; round < 2; round++) {
      const exchanges = Array.from({ length: 10 }, () => begin(watch, 60_000));
      look(10);
      expect(vi.getTimerCount()).toBe(1);
      for (const { leave } of exchanges) leave();
      look(1);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  it("is not restarted if one entry follows the other", () => {
    const timers = vi.spyOn(globalThis, "setInterval");
    const watch = createStallWatch();
    for (let count = 0; count < 10; count++) begin(watch, 1_000).leave();
    expect(timers).toHaveBeenCalledTimes(1);
  });

  it("does not keep a process alive", () => {
    vi.useRealTimers();
    const before = countTimers();
    const { leave } = begin(createStallWatch(), 1_000);
    expect(countTimers()).toBe(before);
    leave();
  });
});
