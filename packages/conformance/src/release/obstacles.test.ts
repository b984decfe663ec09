import { expect, it } from "vitest";
import { findObstacles, type ReleaseState } from "./obstacles.js";

const READY: ReleaseState = {
  links: {
    homepage: "https://calotype.dev",
    bugs: "https://github.com/calotype/calotype/issues",
    repository: { type: "git", url: "git+https://github.com/calotype/calotype.git" },
  },
  versions: { "@calotype/core": "0.2.0", "@calotype/node": "0.2.0" },
  changelog: "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n### Added\n\n- A thing.\n",
  changesets: [],
  status: "",
  lastVersion: "0.1.0",
  brokenNames: ["Charge"],
  env: { GITHUB_ACTIONS: "true", ACTIONS_ID_TOKEN_REQUEST_URL: "https://ci", NPM_CONFIG_PROVENANCE: "true" },
};

it("nothing is in the way of a release that is ready", () => {
  expect(findObstacles(READY)).toEqual([]);
  expect(findObstacles({ ...READY, lastVersion: undefined })).toEqual([]);
});

it.each<[string, Partial<ReleaseState>, RegExp]>([
  [
    "a placeholder",
    { links: { ...READY.links, homepage: "https://calotype.example" } },
    /placeholder: https:\/\/calotype\.example/,
  ],
  ["a dirty tree", { status: " M README.md\n" }, /not committed:\n M README\.md$/],
  ["two versions", { versions: { a: "0.2.0", b: "0.2.1" } }, /several versions: 0\.2\.0, 0\.2\.1/],
  ["changesets without a version", { changesets: ["a.md"] }, /npm run release:version/],
  [
    "a version that is released",
    { lastVersion: "0.2.0", brokenNames: [] },
    /0\.2\.0 is released: add a changeset/,
  ],
  [
    "no section of the changelog",
    { changelog: "## Unreleased\n\n## 0.1.0 - 2026-11-21\n" },
    /no section for 0\.2\.0/,
  ],
  [
    "unreleased changes",
    { changelog: READY.changelog.replace("Unreleased\n", "Unreleased\n\n### Added\n") },
    /unreleased changes/,
  ],
  [
    "a patch that breaks",
    { lastVersion: "0.2.3", versions: { a: "0.2.0" } },
    /removes or changes public names of 0\.2\.3: Charge/,
  ],
  [
    "a minor version after 1.0 that breaks",
    { lastVersion: "1.0.0", versions: { a: "1.1.0" }, changelog: "## 1.1.0 - 2026-12-01\n" },
    /removes or changes public names/,
  ],
  ["a laptop", { env: { NPM_CONFIG_PROVENANCE: "true" } }, /Only the workflow/],
  ["no provenance", { env: { ...READY.env, NPM_CONFIG_PROVENANCE: undefined } }, /NPM_CONFIG_PROVENANCE/],
])("%s is in the way of a release", (_, change, reason) => {
  const obstacles = findObstacles({ ...READY, ...change });
  expect(obstacles).toHaveLength(1);
  expect(obstacles[0]).toMatch(reason);
});
