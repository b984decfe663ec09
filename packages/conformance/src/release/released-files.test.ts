import { expect, it } from "vitest";
import { addHeading, addVersion } from "./released-files.js";

const DATE = new Date("2026-12-01T10:00:00Z");

it("the unreleased part of the changelog gets a heading", () => {
  expect(addHeading("# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n", "0.2.0", DATE)).toBe(
    "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n### Added\n\n- A.\n",
  );
});

it("a changelog that has the version, or no unreleased part, is refused", () => {
  expect(() => addHeading("## Unreleased\n\n## 0.2.0 - 2026-11-30\n", "0.2.0", DATE)).toThrow(
    "has 0.2.0 already",
  );
  expect(() => addHeading("# Changelog\n", "0.2.0", DATE)).toThrow("no unreleased part");
});

it("the site gets each minor version once, the newest first", () => {
  expect(addVersion("[]\n", "0.2.0")).toBe('["0.2"]\n');
  expect(addVersion('["0.2"]\n', "0.3.0")).toBe('["0.3", "0.2"]\n');
  expect(addVersion('["0.3", "0.2"]\n', "0.3.1")).toBe('["0.3", "0.2"]\n');
});
