import { describe, expect, it } from "vitest";
import { createVirtualClock } from "./create-virtual-clock.ts";

describe("a virtual clock", () => {
  it("resolves sleeps in the order of their time, and sleeps with the same time in the order of their start", async () => {
    const clock = createVirtualClock(0);
    const woken: [number, number][] = [];
    const sleep = async (ms: number): Promise<void> => {
      await clock.sleep(ms);
      woken.push([ms, clock.now()]);
    };
    const all = Promise.all([50, 7, 7.5, 30, 0, 7, 90, 20].map(sleep));
    await clock.pass(50);
    expect(woken).toEqual([0, 7, 7, 7.5, 20, 30, 50].map((ms) => [ms, ms]));
    expect(clock.now()).toBe(50);
    await clock.pass(40);
    await all;
    expect(clock.now()).toBe(90);
  });

  it("runs all pending work before the clock advances", async () => {
    const clock = createVirtualClock(0);
    const times: number[] = [];
    const walk = async (): Promise<void> => {
      for (let step = 0; step < 3; step++) {
        await clock.sleep(10);
        for (let turn = 0; turn < 50; turn++) await Promise.resolve();
        times.push(clock.now());
      }
    };
    const walked = walk();
    await clock.pass(100);
    await walked;
    expect(times).toEqual([10, 20, 30]);
  });

  it("does not advance during work outside the event loop", async () => {
    const clock = createVirtualClock(0);
    let hashedAt = -1;
    const hash = async (): Promise<void> => {
      await crypto.subtle.digest("SHA-256", new Uint8Array(1_000_000));
      hashedAt = clock.now();
    };
    clock.standStillFor(hash());
    await clock.pass(1_000);
    expect(hashedAt).toBe(0);
  });

  it("repeats work until it is stopped", async () => {
    const clock = createVirtualClock(0);
    const times: number[] = [];
    const end = clock.repeat(() => times.push(clock.now()), 10);
    await clock.pass(35);
    end();
    await clock.pass(100);
    expect(times).toEqual([10, 20, 30]);
  });
});
