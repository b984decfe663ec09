import { expect, it } from "vitest";
import { listVersionOptions } from "./version-options.ts";

const texts = (...args: Parameters<typeof listVersionOptions>) =>
  listVersionOptions(...args).map(({ text }) => text);

it("lists the version that is shown first, then the others", () => {
  expect(listVersionOptions("0.1", false, ["0.2", "0.1"])).toEqual([
    { value: "", text: "v0.1" },
    { value: "v0.2/", text: "v0.2" },
    { value: ".", text: "newest" },
  ]);
});

it("does not lead from the newest pages to themselves", () => {
  expect(texts("0.2", true, ["0.2", "0.1"])).toEqual(["v0.2", "v0.1"]);
  expect(texts("0.3 (not released)", true, ["0.2"])).toEqual(["v0.3 (not released)", "v0.2"]);
});
