import { copyFileSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { run } from "./run.ts";
import { findFiles, ROOT, readText } from "./workspace.ts";

/** The part of a package.json that the tests read. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly engines?: { readonly node: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
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

/**
 * Packs every published package, and installs the tarballs together with the packages that users need. The layout of
 * `node_modules` is npm's. pnpm makes it in a tenth of the time, because it links the files of its store. The tests of the
 * README and of `create-calotype` install with npm.
 */
export function createPackedProject(): PackedProject {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "calotype-packed-")));
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const ours = packAsDependencies(folder);
  const dependencies = { ...ours, ...besides() };
  write("package.json", JSON.stringify({ name: "consumer", private: true, type: "module", dependencies }));
  // Our packages depend on one another. YAML includes JSON.
  write(
    "pnpm-workspace.yaml",
    JSON.stringify({ nodeLinker: "hoisted", engineStrict: true, overrides: ours }),
  );
  run("npx", ["-y", pnpm(), "install", "--prefer-offline", "--ignore-scripts"], folder);
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Packs all published packages into a folder. Returns them as dependencies: `@calotype/core` is `file:/…/calotype-core-0.1.0.tgz`. */
export function packAsDependencies(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(pack(folder).map((tarball) => [nameOf(tarball), `file:${tarball}`]));
}

/** The name of the package in a tarball, such as `@calotype/core`. */
function nameOf(tarball: string): string {
  const [, file = ""] = /(\w[\w-]*)-\d+\.\d+\.\d+[^/]*\.tgz$/.exec(basename(tarball)) ?? [];
  const name = PUBLISHED.find((published) => published.replace("@", "").replace("/", "-") === file);
  if (name === undefined) throw new Error(`${tarball} holds no published package.`);
  return name;
}

/** Packs published packages into a folder and returns the paths of the tarballs. Default: all of them. */
export function pack(folder: string, names = PUBLISHED): string[] {
  const packed = process.env[PACKED_FOLDER];
  if (packed === undefined) return packAnew(folder, names);
  for (const name of names) copyTarball(name, { from: packed, to: folder });
  return listTarballs(folder);
}

/** The environment variable with the folder of the tarballs. `npm test` sets it, so that the packages are packed once. */
export const PACKED_FOLDER = "CALOTYPE_TEST_TARBALLS";

/** As {@link pack}, but never copies what was packed before. */
export function packAnew(folder: string, names = PUBLISHED): string[] {
  const filters = names.flatMap((name) => ["--filter", name]);
  run("npx", ["-y", pnpm(), ...filters, "pack", "--pack-destination", folder], ROOT);
  return listTarballs(folder);
}

function copyTarball(name: string, { from, to }: { readonly from: string; readonly to: string }): void {
  const tarball = listTarballs(from).find((path) => nameOf(path) === name);
  if (tarball === undefined) throw new Error(`${from} has no tarball of ${name}.`);
  copyFileSync(tarball, join(to, basename(tarball)));
}

function listTarballs(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".tgz"))
    .map((name) => join(folder, name));
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
function besides(): Readonly<Record<string, string | undefined>> {
  const optional = MANIFESTS.flatMap(({ peerDependenciesMeta = {} }) => Object.keys(peerDependenciesMeta));
  const versions: Record<string, string> = {};
  for (const { devDependencies } of [
    readManifest("package.json"),
    readManifest(OWN_MANIFEST),
    ...MANIFESTS,
  ]) {
    Object.assign(versions, devDependencies);
  }
  const names = ["express", "@types/express", "@types/node", ...optional];
  return Object.fromEntries(names.map((name) => [name, versions[name]]));
}

/** @param path from the root of the workspace */
export function readManifest(path: string): Manifest {
  const manifest: Manifest = JSON.parse(readText(path));
  return manifest;
}
