import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { PUBLISHED_FOLDERS } from "../support/packed-project.js";
import { findFiles, ROOT } from "../support/workspace.js";
import { compareApi, describeApi, findEntryPoints } from "./api-report.js";

const entries = findEntryPoints(PUBLISHED_FOLDERS);
const reports = describeApi(entries);

it.each([...reports])("%s has the public names of the built package", async (path, report) => {
  await expect(report).toMatchFileSnapshot(join(ROOT, path));
});

it("no report is left of an entry point that was removed", () => {
  expect(findFiles("packages/*/api/*")).toEqual([...reports.keys()].toSorted());
  expect(entries.every(({ declarations }) => existsSync(declarations))).toBe(true);
});

const reportOf = (...blocks: string[]): string => `\`\`\`ts\n${blocks.join("\n\n")}\n\`\`\`\n`;

describe("the difference of two reports", () => {
  it("names what is new, removed and changed", () => {
    const before = reportOf(
      "export interface A {\n  a: string;\n}",
      "export declare function b(): void;",
      "type D = 1;",
    );
    const after = reportOf(
      "export interface A {\n  a: number;\n}",
      "export declare const c: 1;",
      "type D = 1;",
    );
    expect(compareApi(before, after)).toEqual({ added: ["c"], removed: ["b"], changed: ["A"] });
  });

  it("is empty for equal reports, and reads every report of the repository", () => {
    for (const report of reports.values()) {
      expect(compareApi(report, report)).toEqual({ added: [], removed: [], changed: [] });
      expect(compareApi("", report).added).not.toEqual([]);
    }
  });
});
