import { findPlaceholders, type ProjectLinks } from "./project-links.ts";

/** What a release depends on, read before anything is published. */
export interface ReleaseState {
  readonly links: ProjectLinks;
  /** The version of each package, by its name. */
  readonly versions: Readonly<Record<string, string>>;
  readonly changelog: string;
  /** The files of `.changeset` that describe changes. `npm run release:version` consumes them. */
  readonly changesets: readonly string[];
  /** What `git status --porcelain` prints. */
  readonly status: string;
  /** The version of the last release. */
  readonly lastVersion: string | undefined;
  /** Public names that were removed or changed since then. */
  readonly brokenNames: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Why a release may not be published now; a sentence for each reason. */
export function findObstacles(state: ReleaseState): string[] {
  const { links, versions, changelog, changesets, status, lastVersion, brokenNames, env } = state;
  const obstacles: string[] = [];
  const distinct = [...new Set(Object.values(versions))];
  const [version = ""] = distinct;

  for (const link of findPlaceholders(links)) {
    obstacles.push(`The package.json at the root has a placeholder: ${link}.`);
  }
  if (status !== "") obstacles.push(`Some files are not committed:\n${status.trimEnd()}`);
  if (distinct.length > 1) obstacles.push(`The packages have several versions: ${distinct.join(", ")}.`);
  if (changesets.length > 0) {
    obstacles.push(`${changesets.length} changesets have no version yet: npm run release:version.`);
  }
  if (version === lastVersion) obstacles.push(`${version} is released: add a changeset with npx changeset.`);
  if (!new RegExp(`^## ${version.replaceAll(".", "\\.")} - \\d{4}-\\d\\d-\\d\\d$`, "m").test(changelog)) {
    obstacles.push(`CHANGELOG.md has no section for ${version}.`);
  }
  if (/^## Unreleased\n+[^#\s]/m.test(changelog) || /^## Unreleased\n+###/m.test(changelog)) {
    obstacles.push("CHANGELOG.md has unreleased changes.");
  }
  if (brokenNames.length > 0 && lastVersion !== undefined && !mayBreak(lastVersion, version)) {
    obstacles.push(
      `${version} removes or changes public names of ${lastVersion}: ${brokenNames.join(", ")}.`,
    );
  }
  if (env["GITHUB_ACTIONS"] !== "true" || env["ACTIONS_ID_TOKEN_REQUEST_URL"] === undefined) {
    obstacles.push("Only the workflow .github/workflows/release.yml can publish with provenance.");
  }
  if (env["NPM_CONFIG_PROVENANCE"] !== "true") obstacles.push("NPM_CONFIG_PROVENANCE is not true.");
  return obstacles;
}

/** Whether a version may remove public names of an earlier one: a major version, and before 1.0 a minor one. */
function mayBreak(before: string, after: string): boolean {
  const [oldMajor = 0, oldMinor = 0] = before.split(".").map(Number);
  const [major = 0, minor = 0] = after.split(".").map(Number);
  return major > oldMajor || (major === 0 && minor > oldMinor);
}
