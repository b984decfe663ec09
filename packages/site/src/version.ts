// The versions of the site. Each released version is built by itself from the tag of its release, see CONTRIBUTING.md.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./pages.ts";

/** What is built, and where it will be on the web. */
export interface Build {
  /** The path of the whole site: `/`, or `/calotype/` on a host with several sites. */
  readonly root: string;
  /** The path of this version: the root, or `/v0.2/`. */
  readonly base: string;
  /** The folder of this version in `dist`: empty, or `v0.2`. */
  readonly folder: string;
  /** What the menu calls this version: `0.2`, or `0.2 (not released)`. */
  readonly label: string;
  /** The version of the packages: `0.2.1`. */
  readonly version: string;
  /** Whether any version is on npm. */
  readonly isReleased: boolean;
  /** The branch or tag of the repository that links to source code name. */
  readonly revision: string;
}

/**
 * Reads `DOCS_ROOT` and `DOCS_RELEASE`, which the command sets.
 *
 * @throws Error if one of them has another form
 */
export function readBuild({ DOCS_ROOT: root = "/", DOCS_RELEASE: release }: NodeJS.ProcessEnv): Build {
  if (!/^\/([\w.-]+\/)*$/.test(root)) throw new Error(`--root begins and ends with "/": ${root}`);
  const version = readOwnVersion();
  const own = version.split(".").slice(0, 2).join(".");
  const releases = listReleases();
  const isReleased = releases.length > 0;
  const label = releases.includes(own) ? own : `${own} (not released)`;
  if (release === undefined)
    return { root, base: root, folder: "", label, version, isReleased, revision: "main" };
  if (release !== own) throw new Error(`--release ${release}: the packages of this checkout are ${own}.`);
  return {
    root,
    base: `${root}v${release}/`,
    folder: `v${release}`,
    label: release,
    version,
    isReleased: true,
    // changesets makes a tag for each package, and all packages have one version.
    revision: `@calotype/core@${version}`,
  };
}

/** The released versions, the newest first, from versions.json. The menu of every version shows them. */
function listReleases(): string[] {
  const versions: unknown = JSON.parse(readFileSync(VERSIONS, "utf8"));
  if (Array.isArray(versions) && versions.every(isVersion)) return versions;
  throw new Error('packages/site/versions.json must be a list of versions such as "0.2".');
}

/** The path of versions.json. */
export const VERSIONS = join(import.meta.dirname, "../versions.json");

/** The version of the packages in this checkout: `0.2.1`. */
function readOwnVersion(): string {
  return String(JSON.parse(readFileSync(join(ROOT, "packages/core/package.json"), "utf8")).version);
}

const isVersion = (version: unknown): version is string => /^\d+\.\d+$/.test(String(version));
