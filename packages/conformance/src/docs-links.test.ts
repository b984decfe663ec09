import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { findFiles, ROOT, readText } from "./support/workspace.js";

const DOCUMENTS = findFiles("*.md", "docs/**/*.md", "packages/*/README.md", "examples/*/README.md");

/** The anchors that GitHub gives to the headings of a document. */
function anchorsOf(path: string): ReadonlySet<string> {
  const headings = [...withoutCode(readText(path)).matchAll(/^#+ (.+)$/gm)].map(
    ([, heading = ""]) => heading,
  );
  const anchors = headings.map((heading) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
  return new Set(anchors);
}

/** Every link to a place in this repository, as `[link, path, anchor]`. */
function linksOf(document: string): [string, string, string | undefined][] {
  const links = [...withoutCode(readText(document)).matchAll(/\]\(([^)\s]+)\)/g)].map(
    ([, link = ""]) => link,
  );
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [path = "", anchor] = link.split("#");
      return [link, path === "" ? document : join(dirname(document), path), anchor];
    });
}

const withoutCode = (text: string): string => text.replaceAll(/^ *```[^]*?^ *```$/gm, "");

it.each(DOCUMENTS)("%s links to files and headings that exist", (document) => {
  const broken = linksOf(document).filter(
    ([, path, anchor]) =>
      !existsSync(join(ROOT, path)) ||
      (anchor !== undefined && path.endsWith(".md") && !anchorsOf(path).has(anchor)),
  );

  expect(broken.map(([link]) => link)).toEqual([]);
});

it("finds links", () => {
  expect(DOCUMENTS.length).toBeGreaterThan(50);
  expect(linksOf("docs/README.md").length).toBeGreaterThan(20);
});
