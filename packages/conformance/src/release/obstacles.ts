import { findPlaceholders, type ProjectLinks } from "./project-links.ts";

/** How the public names of all packages differ from those of the last release. */
export interface ApiChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Names that only got optional members, optional parameters, or more alternatives. */
  readonly extended: readonly string[];
  readonly changed: readonly string[];
}

/** What a release depends on, read before anything is published. */
export interface ReleaseState {
  readonly links: ProjectLinks;
  /** The version of each package, by its name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly changelog: string;
  /** The files of `.changeset` that describe changes. `npm run release:version` consumes them. */
  readonly changesets: readonly string[];
  /** The version that the changesets will make. */
  readonly nextVersion: string | undefined;
  /** What `git status --porcelain` prints. */
  readonly status: string;
  /** The version of the last release before this version. */
  readonly lastVersion: string | undefined;
  /** Whether each package has a tag of this version. */
  readonly isReleased: boolean;
  readonly changes: ApiChanges;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Why a release may not be published now; a sentence for each reason. */
export function findObstacles(state: ReleaseState): string[] {
  const { links, versions, changelog, changesets, status, isReleased, env } = state;
  const obstacles: string[] = [];
  const distinct = [...new Set(Object.values(versions))];
  const [version = ""] = distinct;

  for (const link of findPlaceholders(links)) {
    obstacles.push(`The package.json at the root has a placeholder: ${link}.`);
  }
  if (status !== "") obstacles.push(`Some files are not committed:\n${status.trimEnd()}`);
  if (distinct.length > 1) obstacles.push(`The packages have several versions: ${distinct.join(", ")}.`);
  if (changesets.length > 0) {
    obstacles.push("There are changesets without a version: npm run release:version.");
  } else if (isReleased) {
    obstacles.push(`${version} is released: add a changeset with npx changeset.`);
  }
  if (!new RegExp(`^## ${version.replaceAll(".", "\\.")} - \\d{4}-\\d\\d-\\d\\d$`, "m").test(changelog)) {
    obstacles.push(`CHANGELOG.md has no section for ${version}.`);
  }
  if (/^## Unreleased\n+(?!## )\S/m.test(changelog)) obstacles.push("CHANGELOG.md has unreleased changes.");
  obstacles.push(...findForbiddenChanges(state, version));
  if (env["GITHUB_ACTIONS"] !== "true" || env["ACTIONS_ID_TOKEN_REQUEST_URL"] === undefined) {
    obstacles.push("Only the workflow .github/workflows/release.yml can publish with provenance.");
  }
  if (env["PNPM_CONFIG_PROVENANCE"] !== "true") obstacles.push("PNPM_CONFIG_PROVENANCE is not true.");
  return obstacles;
}

/** What docs/versioning.md does not allow between the last version and this one. */
function findForbiddenChanges(state: ReleaseState, version: string): string[] {
  const { changes, changelog, lastVersion, changesets, nextVersion, isReleased } = state;
  if (lastVersion === undefined || (isReleased && changesets.length === 0)) return [];
  const target = nextVersion ?? version;
  const kind = kindOf(lastVersion, target);
  if (kind === "major") return [];
  const { added, removed, extended, changed } = changes;
  const obstacles: string[] = [];
  if (removed.length > 0) {
    obstacles.push(`${target} removes public names of ${lastVersion}: ${removed.join(", ")}.`);
  }
  // The fix of a wrong type changes a name too. Only a person can tell, so the changelog has to say it.
  const heading = nextVersion === undefined ? `${version} - ` : "Unreleased\n";
  const section = changelog.split(/^## /m).find((part) => part.startsWith(heading)) ?? "";
  const inQuestion = kind === "patch" ? [...added, ...extended, ...changed] : changed;
  const unnamed = inQuestion.filter((name) => !new RegExp(`\`[^\`]*\\b${name}\\b[^\`]*\``).test(section));
  if (unnamed.length > 0) {
    obstacles.push(
      `${target} changes public names of ${lastVersion}, and its section of CHANGELOG.md does not name them as fixes: ${unnamed.join(", ")}.`,
    );
  }
  return obstacles;
}

/** The kind of a version after an earlier one. Before 1.0, a minor version may change what a major version may. */
function kindOf(before: string, after: string): "major" | "minor" | "patch" {
  const [oldMajor = 0, oldMinor = 0] = before.split(".").map(Number);
  const [major = 0, minor = 0] = after.split(".").map(Number);
  if (major > oldMajor || (major === 0 && minor > oldMinor)) return "major";
  return minor > oldMinor ? "minor" : "patch";
}
