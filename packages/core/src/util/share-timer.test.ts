import { expect, it } from "vitest";
import { createManualClock } from "../testing/manual-clock.js";
import { shareTimer } from "./async.js";

it("calls each piece of work every second, first after one to two seconds, with one timer", async () => {
  const clock = createManualClock();
  const everySecond = shareTimer(clock.repeat);
  const calls: string[] = [];
  const stopFirst = everySecond(() => void calls.push("first"));
  await clock.tick(1);
  const stopSecond = everySecond(() => void calls.push("second"));
  await clock.tick(1);
  expect(calls).toEqual(["first"]);
  await clock.tick(1);
  expect(calls).toEqual(["first", "first", "second"]);
  expect(clock.running).toBe(1);
  stopFirst();
  stopSecond();
  await clock.tick(1);
  expect(calls).toHaveLength(3);
  expect(clock.running).toBe(0);
});

it("starts its timer again for work that comes later, and lets work stop itself", async () => {
  const clock = createManualClock();
  const everySecond = shareTimer(clock.repeat);
  everySecond(() => undefined)();
  await clock.tick(1);
  expect(clock.running).toBe(0);
  let calls = 0;
  const stop = everySecond(() => {
    calls++;
    stop();
  });
  await clock.tick(5);
  expect([calls, clock.running]).toEqual([1, 0]);
});
