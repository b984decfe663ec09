import { describe, expect, it } from "vitest";
import { createUnderWay } from "./lifecycle.js";

describe("what is under way", () => {
  it("is finished at once where there is nothing", async () => {
    await expect(createUnderWay().finished()).resolves.toBeUndefined();
  });

  it("is waited for, with what begins meanwhile, and with what fails", async () => {
    const underWay = createUnderWay();
    const order: string[] = [];
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    underWay.track(first.promise);
    const finished = underWay.finished().then(() => order.push("finished"));
    underWay.track(second.promise);
    order.push("first fails");
    first.reject(new Error("broken"));
    await new Promise((resolve) => setTimeout(resolve));
    order.push("second ends");
    second.resolve();
    await finished;
    expect(order).toEqual(["first fails", "second ends", "finished"]);
  });

  it("that fails crashes nothing where nobody waits", async () => {
    const underWay = createUnderWay();
    underWay.track(Promise.reject(new Error("broken")));
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setTimeout(resolve));
    await expect(underWay.finished()).resolves.toBeUndefined();
  });
});
