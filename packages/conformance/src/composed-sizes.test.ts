import { expect, it } from "vitest";
import { countBundle } from "./fence/measure-build.js";
import { writeTable } from "./support/written-table.js";

/** Each feature alone, with the kernel. */
const FEATURES = [
  "limits",
  "results",
  "marks",
  "tasks",
  "dashscopeTasks",
  "webhooks",
  "callers",
  "budgets",
  "alerts",
  "usage",
  "usageBatches",
  "estimates",
  "refusals",
  "continuedCalls",
  "channelControl",
  "health",
  "keyFunctions",
  "channelParameters",
  "costs",
  "modelsList",
  "chatCompletions",
  "geminiEndpoint",
  "cors",
  "signedInUsers",
  "openapi",
  "telemetry",
] as const;

const bundle = (names: string, families: string): string =>
  `export { ${names} } from "@calotype/core/compose"; export { ${families} } from "@calotype/core/families";`;

it("docs/composing.md has the size of each composition", { timeout: 180_000 }, async () => {
  const rows = [
    ["the kernel and the family `seedream`", bundle("composeGateway", "seedream")],
    ...FEATURES.map((name) => [`… with \`${name}\``, bundle(`composeGateway, ${name}`, "seedream")]),
    ["… with all of them", bundle(`composeGateway, ${FEATURES.join(", ")}`, "seedream")],
    ["… with the family `qwenImage`", bundle("composeGateway", "seedream, qwenImage")],
    ["`createGateway`", `export { createGateway } from "@calotype/core";`],
  ];
  const sizes = await Promise.all(
    rows.map(async ([what = "", code = ""]) => [what, String(Math.round((await countBundle(code)()) / 10))]),
  );

  const { text, path } = writeTable("docs/composing.md", ["Composition", "kB"], sizes);

  await expect(text).toMatchFileSnapshot(path);
});
