import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { limitConcurrency } from "./painter.js";

it("runs at most this number of tasks at once, in order, also after failures", async () => {
  const limit = limitConcurrency(2);
  let running = 0;
  let most = 0;
  const started: number[] = [];
  const tasks = Array.from({ length: 9 }, (_, index) =>
    limit(async () => {
      started.push(index);
      running += 1;
      most = Math.max(most, running);
      await nextTurn();
      running -= 1;
      if (index === 3) throw new Error("failed");
    }),
  );
  const outcomes = await Promise.allSettled(tasks);
  expect(most).toBe(2);
  expect(started).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(1);
});
