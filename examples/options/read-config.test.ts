import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readConfig } from "./read-config.ts";

const folder = mkdtempSync(join(tmpdir(), "calotype-config-"));
const file = join(folder, "options.json");
afterAll(() => rmSync(folder, { recursive: true }));

it("reads the options of the file", () => {
  writeFileSync(file, '{"basePath": "/ai"}');

  expect(readConfig({ CALOTYPE_CONFIG: file })).toEqual({ basePath: "/ai" });
});

it("has no options if no file is named", () => {
  expect(readConfig({ CALOTYPE_CONFIG: "" })).toEqual({});
});

it.each([
  ["is cut", '{"callers": [{"key": "caller-canary-3fd9a1c0"', "is not JSON."],
  ["is a list", "[]", "must contain an object"],
  ["is null", "null", "must contain an object"],
  ["is a string", '"options"', "must contain an object"],
])("names the file, but shows no content, if it %s", (_what, text, problem) => {
  writeFileSync(file, text);

  expect(() => readConfig({ CALOTYPE_CONFIG: file })).toThrow(`${file} ${problem}`);
  expect(() => readConfig({ CALOTYPE_CONFIG: file })).not.toThrow(/canary/);
});
