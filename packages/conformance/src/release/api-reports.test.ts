import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PUBLISHED_FOLDERS } from "../support/packed-project.js";
import { findFiles, ROOT } from "../support/workspace.js";
import { describeApi, findEntryPoints } from "./api-report.js";
import { compareApi } from "./compare-api.js";

const entries = findEntryPoints(PUBLISHED_FOLDERS);
const reports = describeApi(entries);

it.each([...reports])("%s has the public names of the built package", async (path, report) => {
  await expect(report).toMatchFileSnapshot(join(ROOT, path));
});

it("what mounts a gateway has fewer than 60 names", () => {
  const { added } = compareApi("", reports.get("packages/core/api/index.api.md") ?? "");
  expect(added).toContain("createGateway");
  expect(added.length).toBeLessThan(60);
});

it("no report is left of an entry point that was removed", () => {
  expect(findFiles("packages/*/api/*")).toEqual([...reports.keys()].toSorted());
  expect(entries.every(({ declarations }) => existsSync(declarations))).toBe(true);
});

it("every report can be compared with an earlier one", () => {
  for (const report of reports.values()) {
    expect(compareApi(report, report)).toMatchObject({ added: [], removed: [], extended: [], changed: [] });
    expect(compareApi("", report).added).not.toEqual([]);
  }
});
