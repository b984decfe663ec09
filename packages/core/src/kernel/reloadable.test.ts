import { describe, expect, it, vi } from "vitest";
import { createReloadable } from "./reloadable.js";

/** Makings that end when the test wants, in the order in which they began. */
function createMaker() {
  const makings: PromiseWithResolvers<string>[] = [];
  const make = (): Promise<string> => {
    const making = Promise.withResolvers<string>();
    makings.push(making);
    return making.promise;
  };
  const making = (index: number): PromiseWithResolvers<string> => {
    const found = makings[index];
    if (found === undefined) throw new Error(`There is no making ${index}.`);
    return found;
  };
  return { make, making, count: () => makings.length };
}

describe("an available value", () => {
  it("is returned synchronously, and stays until a new one is made", async () => {
    const { make, making } = createMaker();
    const value = createReloadable("old", make);
    expect(value.current).toBe("old");
    const reload = value.reload();
    expect(value.current).toBe("old");
    expect(await value.get()).toBe("old");
    making(0).resolve("new");
    await reload;
    expect(value.current).toBe("new");
  });

  it("stays if a new one cannot be made, and the call of the reload rejects", async () => {
    const { make, making } = createMaker();
    const value = createReloadable("old", make);
    const reload = value.reload();
    making(0).reject(new Error("wrong"));
    await expect(reload).rejects.toThrow("wrong");
    expect(value.current).toBe("old");
    const second = value.reload();
    making(1).resolve("new");
    await second;
    expect(value.current).toBe("new");
  });
});

describe("of two reloads", () => {
  it.each([
    ["that end in their order", [0, 1]],
    ["and the earlier one ends last", [1, 0]],
  ])("the later counts: %s", async (_what, order) => {
    const { make, making } = createMaker();
    const taken: string[] = [];
    const value = createReloadable("old", make, (made) => taken.push(made));
    const reloads = [value.reload(), value.reload()];
    for (const index of order) {
      making(index).resolve(`reload ${index}`);
      await reloads[index];
    }
    expect(value.current).toBe("reload 1");
    expect(taken.at(-1)).toBe("reload 1");
  });

  it("the earlier one counts if the later one fails, whichever ends first", async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const { make, making } = createMaker();
      const value = createReloadable("old", make);
      const reloads = [value.reload(), value.reload()];
      const settled = Promise.allSettled(reloads);
      for (const index of order) {
        if (index === 0) making(0).resolve("reload 0");
        else making(1).reject(new Error("wrong"));
        await Promise.resolve();
      }
      expect((await settled).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
      expect(value.current).toBe("reload 0");
    }
  });

  it("one that is not used is not taken for one that is", async () => {
    const { make, making } = createMaker();
    const taken = vi.fn<(value: string) => void>();
    const value = createReloadable("old", make, taken);
    const reloads = [value.reload(), value.reload()];
    making(1).resolve("reload 1");
    making(0).resolve("reload 0");
    await Promise.all(reloads);
    expect(taken.mock.calls).toEqual([["old"], ["reload 1"]]);
  });
});

describe("a value that takes time to make", () => {
  it("is waited for by all who ask, and made once", async () => {
    const { make, making, count } = createMaker();
    const value = createReloadable(make(), make);
    expect(value.current).toBeUndefined();
    const asked = Promise.all([value.get(), value.get(), value.get()]);
    making(0).resolve("first");
    expect(await asked).toEqual(["first", "first", "first"]);
    expect(value.current).toBe("first");
    expect(count()).toBe(1);
  });

  it("that cannot be made is made again by the next caller, once for all callers that wait", async () => {
    const { make, making, count } = createMaker();
    const value = createReloadable(make(), make);
    const asked = value.get();
    making(0).reject(new Error("not yet"));
    await expect(asked).rejects.toThrow("not yet");
    const again = Promise.all([value.get(), value.get()]);
    expect(count()).toBe(2);
    making(1).resolve("second");
    expect(await again).toEqual(["second", "second"]);
    expect(await value.get()).toBe("second");
    expect(count()).toBe(2);
  });

  it("whose first load fails before the first call causes no unhandled rejection", async () => {
    const value = createReloadable<string>(Promise.reject(new Error("early")), async () => "made");
    await new Promise((resolve) => setTimeout(resolve));
    expect(await value.get()).toBe("made");
  });

  it("is that of a reload that overtakes the first load", async () => {
    const { make, making } = createMaker();
    const value = createReloadable(make(), make);
    const reload = value.reload();
    making(1).resolve("reloaded");
    await reload;
    making(0).resolve("first");
    await Promise.resolve();
    await Promise.resolve();
    expect(value.current).toBe("reloaded");
  });
});
