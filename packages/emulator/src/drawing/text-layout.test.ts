import { describe, expect, it } from "vitest";
import { fitText, lineHeight, measure } from "./text-layout.js";

const box = { width: 400, height: 200, largestFont: 40, smallestFont: 16 };

describe("text in a box", () => {
  it("is as large as fits", () => {
    expect(fitText("a fox", box)).toEqual({ lines: ["a fox"], fontSize: 40 });
    expect(fitText("a fox ".repeat(20), box).fontSize).toBeLessThan(40);
  });

  it("breaks between words, and anywhere between Chinese characters", () => {
    const { lines } = fitText("reading a newspaper under a maple tree", box);
    expect(lines.join(" ")).toBe("reading a newspaper under a maple tree");
    expect(fitText("一只橘猫坐在窗台上看着窗外的雨", box).lines).toEqual([
      "一只橘猫坐在窗台上看",
      "着窗外的雨",
    ]);
  });

  it("never begins a line with a comma or a stop", () => {
    const { lines } = fitText("一只橘猫坐在窗台上看，着窗外的雨。", box);
    for (const line of lines) expect(line).not.toMatch(/^[，。]/);
  });

  it.each([
    ["words", "word ".repeat(500)],
    ["one word", "w".repeat(2000)],
    ["characters", "猫".repeat(2000)],
    ["emoji", "👩‍👩‍👧".repeat(300)],
  ])("is cut off with an ellipsis when there is too much of it: %s", (_name, text) => {
    const { lines, fontSize } = fitText(text, box);
    expect(fontSize).toBe(16);
    expect(lines.length * fontSize * lineHeight).toBeLessThanOrEqual(box.height);
    expect(lines.at(-1)).toMatch(/…$/);
    for (const line of lines.slice(0, -1))
      expect(measure(line) * fontSize).toBeLessThanOrEqual(box.width * 1.1);
  });

  it("has no lines if the text is empty", () => {
    expect(fitText("  \n ", box).lines).toEqual([]);
  });
});
