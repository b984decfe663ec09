import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { FormSplitter } from "./form-splitter.js";

/** The line end that a form may begin without. */
const FIRST_LINE_END = 2;

/** The number of bytes up to the end of the form, if it ends. */
function endOf(form: string, chunkBytes = form.length): number | undefined {
  const splitter = new FormSplitter("b");
  const bytes = Buffer.from(form, "latin1");
  let length = -FIRST_LINE_END;
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    for (const piece of splitter.split(bytes.subarray(start, start + chunkBytes)))
      length += piece.bytes.length;
  }
  return splitter.hasEnded ? length : undefined;
}

const PART = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n';

const STRAY = /^The form is malformed: its boundary must be followed by a line end or by --\.$/;

describe.each([1, 2, 3, 5, 7, 1_000])("the end of a form in chunks of %i bytes", (chunkBytes) => {
  it.each<[string, string, number]>([
    ["after its last delimiter", `${PART}--b--`, PART.length + 5],
    ["at its beginning", "--b--", 5],
    ["after a preamble", "before\r\n--b--\r\n", 13],
    ["before an epilogue", `${PART}--b--\r\nafter`, PART.length + 5],
    ["before parts in the epilogue", `${PART}--b--\r\n${PART}--b--`, PART.length + 5],
    ["before a stray boundary in the epilogue", "--b--\r\n--bx", 5],
    ["after two delimiters in a row", "--b\r\n--b--", 10],
  ])("is %s", (_what, form, expected) => {
    expect(endOf(form, chunkBytes)).toBe(expected);
  });

  it.each([
    ["a form without a delimiter", "--a--\r\n --b--"],
    ["a boundary inside a line", "--b\r\n\r\nx--b--"],
    ["a form that is cut in its last delimiter", `${PART}--b-`],
    ["a form that is cut after a delimiter", "--b\r"],
    ["nothing", ""],
  ])("is not in %s", (_what, form) => {
    expect(endOf(form, chunkBytes)).toBeUndefined();
  });

  it.each([
    ["other characters", "--bxy"],
    ["white space", "--b \r\n"],
    ["half of an end", "--b-x"],
    ["half of a line end", "--b\rx"],
    ["a dash, a delimiter and a dash", "--b-\r\n--b-"],
  ])("is refused if %s follow the boundary", (_what, form) => {
    expect(() => endOf(form, chunkBytes)).toThrow(STRAY);
  });
});

it("the pieces of a form are the same wherever its chunks are cut", () => {
  const form = Buffer.from(`before\r\n${PART}${PART}--b\r\n--b--\r\n${PART}`, "latin1");
  const expected = ["before", "+", "1", "+", "1", "+", "+"];
  for (let chunkBytes = 1; chunkBytes <= form.length; chunkBytes++) {
    const splitter = new FormSplitter("b");
    let parts = "";
    for (let start = 0; start < form.length; start += chunkBytes) {
      for (const piece of splitter.split(form.subarray(start, start + chunkBytes))) {
        if (piece.kind === "delimiter") parts += ",+,";
        else parts += Buffer.from(piece.kind === "head" ? piece.content : piece.bytes).toString("latin1");
      }
    }
    expect(
      parts
        .split(",")
        .filter((part) => part !== "")
        .map((part) => part.trim()),
    ).toEqual(expected);
  }
});

it.each([1, 100, 100_000])("a form of delimiters only is refused, in chunks of %i bytes", (chunkBytes) => {
  expect(endOf(`${"--b\r\n".repeat(999)}--b--`, chunkBytes)).toBe(5_000);
  expect(() => endOf("--b\r\n".repeat(1_001), chunkBytes)).toThrow(/^The form has too many parts\.$/);
});
