import { expect, it } from "vitest";
import { countBundle } from "./fence/measure-build.js";
import { writeTable } from "./support/written-table.js";

const COMPOSED = [
  ["the kernel and the family `seedream`", "composeGateway", "seedream"],
  ["… with `limits`", "composeGateway, limits", "seedream"],
  ["… with `cors`", "composeGateway, cors", "seedream"],
  ["… with the family `qwenImage`", "composeGateway", "seedream, qwenImage"],
] as const;

it("docs/composing.md has the size of each composition", async () => {
  const rows = COMPOSED.map(([what, names, families]) => [
    what,
    `export { ${names} } from "@calotype/core/compose"; export { ${families} } from "@calotype/core/families";`,
  ]);
  rows.push(["`createGateway`", `export { createGateway } from "@calotype/core";`]);
  const sizes = await Promise.all(
    rows.map(async ([what = "", code = ""]) => [what, String(Math.round((await countBundle(code)()) / 10))]),
  );

  const { text, path } = writeTable("docs/composing.md", ["Composition", "kB"], sizes);

  await expect(text).toMatchFileSnapshot(path);
});
