import { describe, expect, it } from "vitest";
import { findFolder, parseFileName, toFileName } from "./stored-file.js";

const ID = "0123456789abcdef0123456789abcdef";
const END = new Date(1_795_305_660_000);

describe("the name of a stored file", () => {
  it.each<[string, string, string]>([
    ["image/png", "png", "image/png"],
    ["image/jpeg", "jpg", "image/jpeg"],
    ["image/webp", "webp", "image/webp"],
    ["image/svg+xml", "svg", "image/svg+xml"],
    ["application/octet-stream", "bin", "application/octet-stream"],
    ["IMAGE/PNG", "png", "image/png"],
    ["image/x-icon", "image_x-icon", "image/x-icon"],
    ["image/vnd.adobe.photoshop", "image_vnd.adobe.photoshop", "image/vnd.adobe.photoshop"],
    // Anything else could change the path.
    ["image/../../x", "bin", "application/octet-stream"],
    ["image/png; a=b", "bin", "application/octet-stream"],
    ["image", "bin", "application/octet-stream"],
    ["image/a_b", "bin", "application/octet-stream"],
    ["image/\0", "bin", "application/octet-stream"],
    ["constructor", "bin", "application/octet-stream"],
    [`image/${"a".repeat(300)}`, "bin", "application/octet-stream"],
    ["", "bin", "application/octet-stream"],
  ])("for %j ends with %s", (contentType, extension, kept) => {
    const name = toFileName({ id: ID, contentType, expiresAt: END });
    expect(name).toBe(`${ID}.1795305660.${extension}`);
    expect(parseFileName(name)).toEqual({ id: ID, contentType: kept, expiresAt: END });
  });

  it("states an end that is not before the image's", () => {
    const name = toFileName({ id: ID, contentType: "image/png", expiresAt: new Date(1) });
    expect(parseFileName(name)?.expiresAt).toEqual(new Date(1_000));
  });

  it.each(["", ID.slice(1), `${ID}0`, ID.toUpperCase(), `../${ID.slice(3)}`, `${ID.slice(1)}\n`])(
    "is not made for the id %j",
    (id) => {
      expect(() => toFileName({ id, contentType: "image/png", expiresAt: END })).toThrow(TypeError);
    },
  );

  it.each([
    "",
    ".DS_Store",
    `${ID}.png`,
    `${ID}.1795305660`,
    `${ID}.1795305660.`,
    `${ID}.-1.png`,
    `${ID}.1795305660.PNG`,
    `${ID}.1795305660.unknown`,
    `${ID}.1795305660._`,
    `${ID}.1795305660.png~`,
    `x${ID}.1795305660.png`,
  ])("is not read from %j", (name) => {
    expect(parseFileName(name)).toBeUndefined();
  });

  it("is in one of 65,536 folders", () => {
    expect(findFolder("/images", ID)).toBe("/images/01/23");
  });
});
