import { expect, it } from "vitest";
import { imageCountInPrompt } from "./prompt-hints.js";

it.each([
  ["画三张猫", 3],
  ["生成 4 张不同风格的海报", 4],
  ["两幅水墨画", 2],
  ["十二张生肖图", 12],
  ["draw 4 images of a fox", 4],
  ["Five different pictures of one cat", 5],
  ["a 2 panel comic", 2],
  ["one image", 1],
  ["a fox", undefined],
  ["一张桌子上的两只猫", undefined],
  ["16:9 image", undefined],
  ["version 4.5 images", undefined],
  ["0 images", undefined],
  ["the 1990s", undefined],
  ["someone pictures a fox", undefined],
])("%s asks for %s", (prompt, expected) => {
  expect(imageCountInPrompt(prompt)).toBe(expected);
});
