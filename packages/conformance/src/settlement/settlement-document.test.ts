import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT, readText } from "../support/workspace.js";
import { renderTables } from "./render-tables.js";
import { GROUPS } from "./rows.js";

const PATH = "docs/settlement.md";
const BEGIN = "<!-- Written by the tests from their own rows: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";

it("docs/settlement.md shows exactly the rows that are tested", async () => {
  const document = readText(PATH);
  const [head, rest = ""] = document.split(BEGIN);
  const [, tail] = rest.split(END);
  await expect(`${head}${BEGIN}${renderTables(GROUPS)}\n${END}${tail}`).toMatchFileSnapshot(join(ROOT, PATH));
});
