import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../support/workspace.ts";
import { licenceOf, readInstalled } from "./installed-packages.ts";

/** A package whose code is in the `dist` of one of ours. Users do not install it, so npm and its tools do not see it. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** As SPDX names it. */
  readonly licence: string;
  /** The licence with its notice of copyright. */
  readonly text: string;
}

/** The list that Vite writes of a page: see `packages/studio/vite.config.ts`. */
const OF_VITE = "dist/licenses.json";

/**
 * The packages that are bundled into a built package, by name. The source maps name their files, and Vite lists those of a
 * page.
 *
 * @param folder from the root of the workspace, such as `packages/core`
 */
export function listBundled(folder: string): readonly BundledPackage[] {
  const root = join(ROOT, folder);
  const folders = new Set<string>();
  for (const map of globSync("dist/**/*.map", { cwd: root })) {
    const text = readFileSync(join(root, map), "utf8");
    // Most maps name none, and parsing takes longest.
    if (!text.includes("/node_modules/")) continue;
    const { sources }: { readonly sources: readonly string[] } = JSON.parse(text);
    for (const source of sources) {
      const [, owner] =
        /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(join(root, dirname(map), source)) ?? [];
      if (owner !== undefined) folders.add(owner);
    }
  }
  return [...[...folders].map(readBundled), ...readPage(root)].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function readBundled(folder: string): BundledPackage {
  const manifest = readInstalled(folder);
  const [file] = globSync("{LICENSE,LICENCE}*", { cwd: folder });
  if (file === undefined) throw new Error(`${manifest.name} is bundled, and has no text of its licence.`);
  const { name, version } = manifest;
  return { name, version, licence: licenceOf(manifest), text: readFileSync(join(folder, file), "utf8") };
}

function readPage(root: string): readonly BundledPackage[] {
  if (!existsSync(join(root, OF_VITE))) return [];
  const listed: readonly (Omit<BundledPackage, "licence"> & { readonly identifier: string })[] = JSON.parse(
    readFileSync(join(root, OF_VITE), "utf8"),
  );
  return [
    ...listed.map(({ identifier, ...bundled }) => ({ ...bundled, licence: identifier })),
    ...listFonts(root).map(readBundled),
  ];
}

/** The folders of the packages whose fonts the styles of a page name. Vite lists scripts only. */
function listFonts(root: string): readonly string[] {
  const styles = globSync("src/page/**/*.css", { cwd: root }).map((path) =>
    readFileSync(join(root, path), "utf8"),
  );
  const names = styles.flatMap((text) =>
    Array.from(text.matchAll(/url\("(@[^/]+\/[^/]+)\//g), ([, name = ""]) => name),
  );
  return [...new Set(names)].map((name) => join(root, "node_modules", name));
}

/** Writes the licences of the packages that are bundled into a package. There is no file if there are none. */
export function writeThirdPartyLicences(folder: string): void {
  const path = join(ROOT, folder, "THIRD_PARTY_LICENSES.txt");
  const sections = listBundled(folder).map(
    ({ name, version, licence, text }) => `## ${name} ${version} (${licence})\n\n${text.trim()}\n`,
  );
  if (sections.length === 0) return rmSync(path, { force: true });
  const head = "The folder dist/ contains parts of these packages, under these licenses.\n";
  writeFileSync(path, [head, ...sections].join("\n"));
}
