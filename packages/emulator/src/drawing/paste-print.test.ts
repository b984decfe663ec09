import { describe, expect, it } from "vitest";
import { pastePrint } from "./paste-print.js";

/** One letter a pixel: `.` the canvas, `w` white, `p` the print. */
function paste(place: { left: number; top: number; border: number }): string {
  const canvas = { pixels: Buffer.alloc(5 * 4 * 3, "."), width: 5, height: 4, channels: 3 as const };
  pastePrint(canvas, { pixels: Buffer.from("abcABC123abcABC123"), width: 3, height: 2, ...place });
  const text = canvas.pixels.toString("latin1").replaceAll("\u{ff}\u{ff}\u{ff}", "w").replaceAll("...", ".");
  return text.replaceAll(/abc|ABC|123/g, "p");
}

describe("a print on a canvas", () => {
  it.each([
    ["with its border", { left: 1, top: 1, border: 1 }, "wwwwwwpppwwpppwwwwww"],
    ["without a border", { left: 1, top: 1, border: 0 }, "......ppp..ppp......"],
    ["cut off at the left and top", { left: -1, top: -1, border: 0 }, "pp.................."],
    ["cut off at the right and bottom", { left: 3, top: 3, border: 1 }, "............www..wpp"],
    ["out of sight", { left: 9, top: 1, border: 1 }, "...................."],
  ])("is %s", (_how, place, expected) => {
    expect(paste(place)).toHaveLength(20);
    expect(paste(place)).toBe(expected);
  });
});
