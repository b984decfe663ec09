import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { PUBLISHED_FOLDERS } from "../support/packed-project.js";
import { findFiles, ROOT, readText } from "../support/workspace.js";
import { BILL_FILE } from "./bill-of-materials.js";
import { PACKAGE_DOCS } from "./package-docs.js";
import {
  findPlaceholders,
  manifestLinks,
  type ProjectLinks,
  pageAddress,
  readProjectLinks,
  sourceAddress,
} from "./project-links.js";

const links = readProjectLinks();

/** What every tarball has, and the script that writes it. */
const PREPACK = "node ../conformance/src/release/prepack.ts";

// With `-u`, vitest writes the package.json and the README of each package: the links are stated once, at the root.
it.each(PUBLISHED_FOLDERS)(
  "%s has the links of the root in package.json and README.md, and the docs in its tarball",
  async (folder) => {
    const path = join(ROOT, folder, "package.json");
    const readme = updateReadme(folder);
    await expect(readme).toMatchFileSnapshot(join(ROOT, folder, "README.md"));

    const own: [string, unknown][] = Object.entries(JSON.parse(readText(`${folder}/package.json`)));
    const fields = own.filter(([name]) => !(name in links));
    const at = fields.findIndex(([name]) => name === "license");
    fields.splice(at, 0, ...Object.entries(manifestLinks(folder, links)));
    const manifest = Object.fromEntries(fields) as { files: string[]; scripts: object };
    manifest.files = [...new Set([...manifest.files, "CHANGELOG.md", "docs", BILL_FILE])];
    Object.assign(manifest.scripts, { prepack: PREPACK });

    await expect(`${JSON.stringify(manifest, null, 2)}\n`).toMatchFileSnapshot(path);
  },
);

it.each(PUBLISHED_FOLDERS)("%s/README.md links only to what a reader of npm can open", (folder) => {
  const text = updateReadme(folder);
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  const addresses = new Set(findFiles("docs/**/*.md").map((page) => pageAddress(page, links)));
  const broken = targets.filter((link) => {
    const [path = "", anchor] = link.split("#");
    if (path === "") return false;
    if (path.startsWith(links.homepage)) return !addresses.has(path) || !hasAnchor(path, anchor);
    const source = sourceAddress("", links);
    if (path.startsWith(source)) return !existsSync(join(ROOT, path.slice(source.length)));
    // A placeholder that was replaced at the root.
    if (path.startsWith("https:")) return new URL(path).hostname.endsWith(".example");
    // In the tarball: the sources, and nothing outside of the folder.
    return !path.startsWith("src/") || !existsSync(join(ROOT, folder, path));
  });

  expect(broken).toEqual([]);
});

it("every package has a list of its docs, of pages that exist", () => {
  expect(Object.keys(PACKAGE_DOCS).toSorted()).toEqual(
    PUBLISHED_FOLDERS.map((folder) => basename(folder)).toSorted(),
  );
  const pages = Object.values(PACKAGE_DOCS).flat();
  expect(pages.filter((page) => !existsSync(join(ROOT, "docs", page)))).toEqual([]);
});

it("names under .example are placeholders", () => {
  const real = {
    homepage: "https://calotype.dev",
    bugs: "https://github.com/calotype/calotype/issues",
    repository: { type: "git", url: "git+https://github.com/calotype/calotype.git" },
  };
  expect(findPlaceholders(real)).toEqual([]);
  expect(findPlaceholders({ ...real, bugs: "https://github.example/issues" })).toEqual([
    "https://github.example/issues",
  ]);
});

/** Whether the page at an address of the site has a heading with an anchor. */
function hasAnchor(address: string, anchor: string | undefined): boolean {
  if (anchor === undefined) return true;
  const page = findFiles("docs/**/*.md").find((path) => pageAddress(path, links) === address) ?? "";
  const headings = [...readText(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  const slugs = headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
  return slugs.includes(anchor);
}

/** The README of a package with the links of the root in place of those of its package.json. */
function updateReadme(folder: string): string {
  const before: ProjectLinks = JSON.parse(readText(`${folder}/package.json`));
  return readText(`${folder}/README.md`)
    .replaceAll(before.homepage, links.homepage)
    .replaceAll(sourceAddress("", before), sourceAddress("", links));
}
