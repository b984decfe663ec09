import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { FormSplitter } from "./form-splitter.js";

/** The pieces of a form in chunks, joined. */
function pass(form: string, chunkBytes: number): string {
  const bytes = Buffer.from(form, "latin1");
  const splitter = new FormSplitter("b");
  const passed: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    for (const piece of splitter.split(bytes.subarray(start, start + chunkBytes))) passed.push(piece.bytes);
  }
  // A form may begin without a line end.
  return Buffer.concat(passed).toString("latin1").replace(/^\r\n/, "");
}

const part = (...lines: readonly string[]): string => `--b\r\n${lines.join("\r\n")}\r\n\r\n\x89PNG\r\n`;
const ADDED = "Content-Type: application/octet-stream\r\n";

describe.each([1, 2, 3, 7, 1_000])("a part in chunks of %i bytes", (chunkBytes) => {
  it.each<[string, readonly string[]]>([
    ["image", ['Content-Disposition: form-data; name="image"', "Content-Type: image/png"]],
    ["image[]", ["content-type: image/png", 'content-disposition: form-data; name="image[]"']],
    ["image[12]", ["Content-Disposition: form-data; name=image[12]", "Content-Type:image/png;a=b"]],
    ["an empty filename", ['Content-Disposition: form-data; name="image"; filename=""', "Content-Type: a/b"]],
  ])("is a file: %s", (_what, lines) => {
    const form = `${part(...lines)}${part(...lines)}--b--`;
    expect(pass(form, chunkBytes)).toBe(form.replaceAll("--b\r\n", `--b\r\n${ADDED}`));
  });

  it.each<[string, readonly string[]]>([
    ["without a type", ['Content-Disposition: form-data; name="image"']],
    [
      "plain text",
      ['Content-Disposition: form-data; name="image"', "Content-Type: Text/Plain; charset=utf-8"],
    ],
    ["with a filename", ['Content-Disposition: form-data; name="image"; filename="a"', "Content-Type: a/b"]],
    [
      "with an encoded filename",
      ["Content-Disposition: form-data; name=image; filename*=utf-8''a", "Content-Type: a/b"],
    ],
    ["of another name", ['Content-Disposition: form-data; name="images"', "Content-Type: a/b"]],
    ["of an invalid type", ['Content-Disposition: form-data; name="image"', "Content-Type: png"]],
    ["without a name", ["Content-Type: image/png"]],
    [
      "with a long head",
      ['Content-Disposition: form-data; name="image"', "Content-Type: a/b", `x: ${"y".repeat(20_000)}`],
    ],
  ])("is passed unchanged: %s", (_what, lines) => {
    const form = `before\r\n${part(...lines)}--b--`;
    expect(pass(form, chunkBytes)).toBe(form);
  });

  it.each(["--b\r\n--b\r\n--b--", "--b\r\nx\r\n--b--"])(
    "whose head does not end is passed unchanged: %j",
    (form) => {
      expect(pass(form, chunkBytes)).toBe(form);
    },
  );
});
