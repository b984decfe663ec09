import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

/** The part of a package.json that describes a dependency. */
export interface InstalledManifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string | { readonly type?: string };
  readonly licenses?: readonly { readonly type?: string }[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** An installed package. */
export interface InstalledPackage {
  /** Its real path. */
  readonly folder: string;
  readonly manifest: InstalledManifest;
  /** The folders of its own dependencies. */
  readonly dependencies: readonly string[];
}

/** @param folder the absolute path of a package */
export function readInstalled(folder: string): InstalledManifest {
  const manifest: InstalledManifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return manifest;
}

/**
 * Everything that npm installs with a package, by folder: the package itself, its dependencies, and theirs. Peer dependencies
 * are the user's, and optional dependencies of other platforms are not installed here.
 *
 * @param folder the absolute path of a package
 * @throws Error if a dependency is not installed
 */
export function listInstalled(
  folder: string,
  found = new Map<string, InstalledPackage>(),
): ReadonlyMap<string, InstalledPackage> {
  const manifest = readInstalled(folder);
  const optional = manifest.optionalDependencies ?? {};
  const dependencies: string[] = [];
  found.set(folder, { folder, manifest, dependencies });
  for (const name of Object.keys({ ...manifest.dependencies, ...optional }).toSorted()) {
    const installed = findInstalled(folder, name);
    if (installed === undefined && name in optional) continue;
    if (installed === undefined) throw new Error(`${name} of ${folder} is not installed.`);
    dependencies.push(installed);
    if (!found.has(installed)) listInstalled(installed, found);
  }
  return found;
}

/** Where Node finds a package from a folder. */
function findInstalled(folder: string, name: string): string | undefined {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    const path = join(at, "node_modules", name);
    // The real path, since pnpm keeps the dependencies of a package beside it.
    if (existsSync(join(path, "package.json"))) return realpathSync(path);
  }
  return undefined;
}

/** The licence of a package as its package.json states it, or `none`. */
export function licenceOf({ license, licenses }: InstalledManifest): string {
  if (typeof license === "string") return license;
  return license?.type ?? licenses?.map(({ type }) => type).join(" OR ") ?? "none";
}
