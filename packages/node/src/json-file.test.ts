import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import type { GatewayOptions } from "@calotype/core";
import { afterAll, describe, expect, it } from "vitest";
import { jsonFile } from "./json-file.js";

const folder = mkdtempSync(join(tmpdir(), "calotype-json-file-"));
afterAll(() => rmSync(folder, { recursive: true }));

const file = join(folder, "options.json");
const KEY = "caller-canary-07d4e1c9";

const read = (content: string | Uint8Array): Promise<unknown> => {
  writeFileSync(file, content);
  return jsonFile(file)();
};

describe("jsonFile", () => {
  it("reads the file at each call", async () => {
    const source = jsonFile<{ version: number }>(file);
    writeFileSync(file, '{"version": 1}');
    expect(await source()).toEqual({ version: 1 });
    writeFileSync(file, '{"version": 2}');
    expect(await source()).toEqual({ version: 2 });
  });

  it.each([
    ["a path", file],
    ["a relative path", relative(process.cwd(), file)],
    ["a URL", pathToFileURL(file)],
  ])("takes %s", async (_what, path) => {
    writeFileSync(file, "[1]");
    expect(await jsonFile(path)()).toEqual([1]);
  });

  it("has the type of options that can be reloaded", () => {
    const options: Partial<GatewayOptions> = {
      models: jsonFile(file),
      channels: jsonFile(file),
      callers: jsonFile(file),
    };
    expect(Object.values(options)).toEqual(Array.from({ length: 3 }, () => expect.any(Function)));
  });

  it.each([
    ["a byte order mark", "\uFEFF{}", {}],
    ["Windows line ends", '{\r\n"a": 1\r\n}\r\n', { a: 1 }],
    ["null, which the gateway checks", "null", null],
    ["a string, which the gateway checks", '"models"', "models"],
  ])("takes %s", async (_what, content, value) => {
    expect(await read(content)).toEqual(value);
  });

  it.each([
    ["an empty file", "", "is empty"],
    ["a file of white space", " \n", "is empty"],
    ["a byte order mark alone", "\uFEFF", "is empty"],
    ["an incomplete file", '{"a": [1,', "is not JSON: it ends too early."],
    ["an extra comma", '{\n  "a": 1,\n}\n', "is not JSON: see line 3, column 1."],
    ["a missing comma", '{\r\n  "a": 1\r\n  "b": 2\r\n}', "is not JSON: see line 3, column 3."],
    ["a comment", "// models\n{}", "is not JSON: see line 1, column 1."],
    ["UTF-16", Buffer.from("\uFEFF{}", "utf16le"), "is not UTF-8."],
  ])("names the file and what is wrong for %s", async (_what, content, problem) => {
    await expect(read(content)).rejects.toThrow(`${file} ${problem}`);
  });

  it.each([
    ["a file that does not exist", join(folder, "none.json"), "cannot be read: there is no such file."],
    ["a folder", folder, "cannot be read: it is a folder."],
  ])("says so of %s", async (_what, path, problem) => {
    await expect(jsonFile(path)()).rejects.toThrow(`${path} ${problem}`);
  });

  it("reads no file above 64 MiB", async () => {
    const large = join(folder, "large.json");
    writeFileSync(large, "");
    truncateSync(large, 64 * 1024 * 1024 + 1);
    await expect(jsonFile(large)()).rejects.toThrow(`${large} is too large: 67108865 bytes`);
  });

  it.each([
    ["beside a mistake", `[{"key": "${KEY}" x}]`],
    ["without quotes", `[{"key": ${KEY}}]`],
    ["in a string without an end", `[{"key": "${KEY}`],
    ["as the whole content", KEY],
  ])("shows no key that stands %s", async (_where, content) => {
    const error: unknown = await read(content).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: Infinity, showHidden: true }).includes(KEY)).toBe(false);
  });

  it("does not keep the process alive while it watches its file", () => {
    writeFileSync(file, "{}");
    const program = `import { jsonFile } from "@calotype/node";
      jsonFile(${JSON.stringify(file)}, { watch: true }).watch(() => {});
      console.log("watching");`;
    const args = ["--input-type=module", "-e", program];

    const { stdout, status } = spawnSync(process.execPath, args, {
      cwd: import.meta.dirname,
      encoding: "utf8",
      timeout: 20_000,
    });

    expect({ stdout, status }).toEqual({ stdout: "watching\n", status: 0 });
  });

  it("refuses an option that it does not know", () => {
    expect(() => jsonFile(file, { wacth: true } as object)).toThrow(/wacth/);
  });
});
