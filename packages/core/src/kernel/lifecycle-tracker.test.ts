import { describe, expect, it } from "vitest";
import { createTracker } from "./lifecycle.js";

describe("createTracker", () => {
  it("is finished at once if nothing is tracked", async () => {
    await expect(createTracker().finished()).resolves.toBeUndefined();
  });

  it("waits for all promises, including later ones and ones that reject", async () => {
    const tracker = createTracker();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    tracker.track(first.promise);
    const finished = tracker.finished().then(() => order.push("finished"));
    tracker.track(second.promise);
    order.push("first fails");
    first.reject(new Error("broken"));
    await new Promise((resolve) => setTimeout(resolve));
    order.push("second ends");
    second.resolve();
    await finished;
    expect(order).toEqual(["first fails", "second ends", "finished"]);
  });

  it("causes no unhandled rejection", async () => {
    const tracker = createTracker();
    tracker.track(Promise.reject(new Error("broken")));
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setTimeout(resolve));
    await expect(tracker.finished()).resolves.toBeUndefined();
  });
});
