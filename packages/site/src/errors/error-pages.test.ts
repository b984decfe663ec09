import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../pages.ts";
import { ERROR_PAGES, readErrorRows, renderErrorList, renderErrorPage } from "./render.ts";

const FOLDER = join(ROOT, "docs/errors");
const ROWS = readErrorRows(readFileSync(join(ROOT, "docs/errors.md"), "utf8"));

it("every code of docs/errors.md has what its page says, and the reverse", () => {
  expect(ROWS.map(({ code }) => code).toSorted()).toEqual(Object.keys(ERROR_PAGES).toSorted());
});

it.each(ROWS)("the page of $code in docs/errors is up to date (vitest --update)", async (row) => {
  await expect(renderErrorPage(row)).toMatchFileSnapshot(join(FOLDER, `${row.code}.md`));
});

it("docs/errors/README.md is up to date (vitest --update)", async () => {
  await expect(renderErrorList(ROWS)).toMatchFileSnapshot(join(FOLDER, "README.md"));
});

it("docs/errors has no page of a code that does not exist", () => {
  const known = ["README", ...ROWS.map(({ code }) => code)].map((name) => `${name}.md`);
  expect(globSync("*.md", { cwd: FOLDER }).toSorted()).toEqual(known.toSorted());
});

it("the messages of the examples are those of the code", () => {
  const files = globSync("packages/{core,mcp}/src/**/*.ts", { cwd: ROOT }).filter(
    (path) => !path.endsWith(".test.ts"),
  );
  const source = files.map((path) => readFileSync(join(ROOT, path), "utf8")).join("\n");
  // The operator or the provider writes these.
  const others = new Set(["request_refused", "upstream_rejected"]);
  const unknown = Object.entries(ERROR_PAGES)
    .filter(([code]) => !others.has(code))
    .filter(([, { message }]) => !isPartOf(source, message))
    .map(([code, { message }]) => `${code}: ${message}`);
  expect(unknown).toEqual([]);
});

/** Whether three neighbouring words of the message, without its values, are in a literal of the source. */
function isPartOf(source: string, message: string): boolean {
  const words = message.split(" ");
  const plain = words
    .map((_, at) => words.slice(at, at + 4).join(" "))
    .filter((part) => /^[A-Za-z ,.:'-]+$/.test(part));
  return (
    plain.some((part) => part.split(" ").length === 4 && source.includes(part)) || source.includes(message)
  );
}
