import { mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run } from "./run.ts";
import { findFiles, ROOT, readText } from "./workspace.ts";

/** The part of a package.json that the tests read. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly imports?: Readonly<Record<string, unknown>>;
}

const PUBLISHED_FILES = findFiles("packages/*/package.json").filter(
  (path) => readManifest(path).private !== true,
);
/** The package.json of each published package. */
export const MANIFESTS: readonly Manifest[] = PUBLISHED_FILES.map(readManifest);

/** The folders of the published packages, such as `packages/core`. */
export const PUBLISHED_FOLDERS: readonly string[] = PUBLISHED_FILES.map((path) => dirname(path));

/** The packages of the workspace that are published. */
export const PUBLISHED: readonly string[] = MANIFESTS.map(({ name }) => name);

const OWN_MANIFEST = "packages/conformance/package.json";

/** A project outside the workspace, with our packages installed from tarballs. */
export interface PackedProject {
  readonly folder: string;
  /** Writes a file of the project and returns its path. */
  readonly write: (name: string, text: string) => string;
  readonly remove: () => void;
}

/** Packs every published package, and installs the tarballs together with the packages that users need. */
export function createPackedProject(): PackedProject {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "calotype-packed-")));
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  write("package.json", JSON.stringify({ name: "consumer", private: true, type: "module" }));
  const tarballs = pack(folder);
  const flags = ["--no-audit", "--no-fund", "--prefer-offline", "--engine-strict"];
  run("npm", ["install", ...flags, ...tarballs, ...besides()], folder);
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Packs published packages into a folder and returns the paths of the tarballs. Default: all of them. */
export function pack(folder: string, names = PUBLISHED): string[] {
  const filters = names.flatMap((name) => ["--filter", name]);
  run("npx", ["-y", pnpm(), ...filters, "pack", "--pack-destination", folder], ROOT);
  const tarballs = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  return tarballs.map((name) => join(folder, name));
}

/** The pnpm that the workspace is built with. */
export function pnpm(): string {
  const version = /pnpm@[\d.]+/.exec(readText("package.json"))?.[0];
  if (version === undefined) throw new Error("The scripts of the workspace name no pnpm.");
  return version;
}

/**
 * Packages that a user's project needs in addition to ours, and peer dependencies, in the versions of the
 * workspace.
 */
function besides(): string[] {
  const optional = MANIFESTS.flatMap(({ peerDependenciesMeta = {} }) => Object.keys(peerDependenciesMeta));
  const versions: Record<string, string> = {};
  for (const { devDependencies } of [
    readManifest("package.json"),
    readManifest(OWN_MANIFEST),
    ...MANIFESTS,
  ]) {
    Object.assign(versions, devDependencies);
  }
  return ["express", "@types/express", "@types/node", ...optional].map((name) => `${name}@${versions[name]}`);
}

function readManifest(path: string): Manifest {
  const manifest: Manifest = JSON.parse(readText(path));
  return manifest;
}
