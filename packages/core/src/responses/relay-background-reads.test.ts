import { beforeEach, describe, expect, it, vi } from "vitest";
import { createBackgroundReads } from "./relay.js";

/** A stream whose rest is sent by the test. */
function createRest() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stream = {
    readToEnd: vi.fn<() => Promise<void>>(() => promise),
    giveUp: vi.fn<() => Promise<void>>(async () => resolve()),
  };
  return { ...stream, end: resolve };
}

describe("createBackgroundReads", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => vi.useRealTimers();
  });

  it("reads a stream to its end and leaves no timer", async () => {
    const rest = createRest();
    const read = createBackgroundReads({ streams: 1, ms: 1_000 }).start(rest);
    expect(rest.readToEnd).toHaveBeenCalledTimes(1);
    rest.end();
    await read;
    expect(rest.giveUp).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives up a stream that takes too long", async () => {
    const rest = createRest();
    const read = createBackgroundReads({ streams: 1, ms: 1_000 }).start(rest);
    await vi.advanceTimersByTimeAsync(999);
    expect(rest.giveUp).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await read;
    expect(rest.giveUp).toHaveBeenCalledTimes(1);
  });

  it("gives up a stream above the maximum number, and accepts another one when one has ended", async () => {
    const reads = createBackgroundReads({ streams: 2, ms: 1_000 });
    const rests = Array.from({ length: 4 }, createRest);
    const [first, second, third, fourth] = rests;
    if (!first || !second || !third || !fourth) throw new Error("Four streams are needed.");
    const read = reads.start(first);
    void reads.start(second);
    await reads.start(third);
    expect(third.readToEnd).not.toHaveBeenCalled();
    expect(third.giveUp).toHaveBeenCalledTimes(1);
    first.end();
    await read;
    void reads.start(fourth);
    expect(fourth.readToEnd).toHaveBeenCalledTimes(1);
    expect(fourth.giveUp).not.toHaveBeenCalled();
    second.end();
    fourth.end();
  });

  it("does not count a stream that was given up, even if its source never ends", async () => {
    const reads = createBackgroundReads({ streams: 1, ms: 1_000 });
    const stuck = { readToEnd: () => new Promise<void>(() => {}), giveUp: async () => {} };
    const read = reads.start(stuck);
    await vi.advanceTimersByTimeAsync(1_000);
    await read;
    const rest = createRest();
    void reads.start(rest);
    expect(rest.readToEnd).toHaveBeenCalledTimes(1);
    rest.end();
  });
});
