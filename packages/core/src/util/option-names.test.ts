import { expect, it } from "vitest";
import { checkOptionNames } from "./option-names.js";

interface Options {
  readonly path: string;
  readonly leaseSeconds?: number;
}
const check = (options: unknown): void =>
  checkOptionNames("createLedger", options as Options, { path: true, leaseSeconds: true });

it("accepts the options of a function", () => {
  expect(() => check({ path: "a" })).not.toThrow();
});

it.each([
  [{ file: "a", lease: 1 }, "createLedger has no option file, lease. Its options are path, leaseSeconds."],
  [{ toString: 1 }, "createLedger has no option toString. Its options are path, leaseSeconds."],
  [undefined, "createLedger needs an object of options."],
  ["postgres://", "createLedger needs an object of options."],
])("refuses %j", (options, message) => {
  expect(() => check(options)).toThrow(new TypeError(message));
});
