import { join } from "node:path";
import { ROOT, readText } from "@calotype/conformance/support/workspace";
import { expect, it } from "vitest";
import { renderParts } from "./figures.ts";

const PATH = "docs/hardening.md";
const BEGIN = "<!-- Written by the tests from the parts and runs.jsonl: vitest --update -->\n\n";
const END = "<!-- End of what the tests write -->\n";

it("docs/hardening.md shows every part and the sums of all recorded runs", async () => {
  const [head, rest = ""] = readText(PATH).split(BEGIN);
  const [, tail] = rest.split(END);
  await expect(`${head}${BEGIN}${renderParts()}\n${END}${tail}`).toMatchFileSnapshot(join(ROOT, PATH));
});
