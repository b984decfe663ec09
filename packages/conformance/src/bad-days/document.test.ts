import { expect, it } from "vitest";
import { writeTable } from "../support/written-table.js";
import { readResults, toTable } from "./results.js";

it("docs/postgres.md shows the last results of all bad days", async () => {
  const { head, rows } = toTable(readResults());
  const { text, path } = writeTable("docs/postgres.md", head, rows);
  await expect(text).toMatchFileSnapshot(path);
});
