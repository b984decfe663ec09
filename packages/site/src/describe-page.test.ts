import { expect, it } from "vitest";
import { describePage } from "./describe-page.ts";

it.each([
  [
    "# Title\n\n[简体中文](zh.md)\n\nThe `first` [one](a.md). And more:\n\n## Next\n\nNot this.",
    "The first one. And more.",
  ],
  ["---\noutline: 2\n---\n\n# T\n\n```sh\nnpm install x\n```\n\nAfter code.", "After code."],
  [`# T\n\nOne sentence. ${"word ".repeat(40)}end.`, "One sentence."],
  ["# T\n\nVersion 0.2 of `a.b` is here. Next.", "Version 0.2 of a.b is here. Next."],
  ["# 标题\n\n第一句。第二句。", "第一句。第二句。"],
  ["# T\n\n| a | b |\n| - | - |", ""],
])("describes %j", (markdown, description) => {
  expect(describePage(markdown)).toBe(description);
});
