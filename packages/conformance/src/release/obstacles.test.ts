import { expect, it } from "vitest";
import { findObstacles, type ReleaseState } from "./obstacles.js";

const UNCHANGED = { added: [], removed: [], extended: [], changed: [] };

const READY: ReleaseState = {
  links: {
    homepage: "https://calotype.dev",
    bugs: "https://github.com/calotype/calotype/issues",
    repository: { type: "git", url: "git+https://github.com/calotype/calotype.git" },
  },
  versions: { "@calotype/core": "0.2.0", "@calotype/node": "0.2.0" },
  changelog: "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n### Added\n\n- A thing.\n",
  changesets: [],
  nextVersion: undefined,
  status: "",
  lastVersion: "0.1.0",
  isReleased: false,
  changes: { added: ["A"], removed: ["B"], extended: ["C"], changed: ["D"] },
  env: { GITHUB_ACTIONS: "true", ACTIONS_ID_TOKEN_REQUEST_URL: "https://ci", PNPM_CONFIG_PROVENANCE: "true" },
};

/** The state of another version after an earlier one. The section of the changelog has one line. */
const stateOf = (lastVersion: string, version: string, line = "- A thing."): Partial<ReleaseState> => ({
  lastVersion,
  versions: { a: version },
  changelog: `# Changelog\n\n## Unreleased\n\n## ${version} - 2026-12-01\n\n### Fixed\n\n${line}\n\n## ${lastVersion} - 2026-11-01\n\n- \`D\`.\n`,
});

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
  ["two versions", { versions: { a: "0.2.0", b: "0.1.0" } }, /several versions: 0\.2\.0, 0\.1\.0/],
  ["a changeset", { changesets: [".changeset/a.md"] }, /changesets without a version/],
  ["a changeset after a release", { changesets: [".changeset/a.md"], isReleased: true }, /without a version/],
  ["a version that exists", { isReleased: true }, /0\.2\.0 is released: add a changeset/],
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
  ["a laptop", { env: { PNPM_CONFIG_PROVENANCE: "true" } }, /Only the workflow/],
  ["no provenance", { env: { ...READY.env, PNPM_CONFIG_PROVENANCE: undefined } }, /PNPM_CONFIG_PROVENANCE/],
])("%s is in the way of a release", (_, change, reason) => {
  const obstacles = findObstacles({ ...READY, ...change });
  expect(obstacles).toHaveLength(1);
  expect(obstacles[0]).toMatch(reason);
});

it.each<[string, string, string, string[]]>([
  ["a minor version before 1.0", "0.1.3", "0.2.0", []],
  ["a major version", "1.4.0", "2.0.0", []],
  [
    "a minor version",
    "1.0.0",
    "1.1.0",
    [
      "1.1.0 removes public names of 1.0.0: B.",
      "1.1.0 changes public names of 1.0.0, and its section of CHANGELOG.md does not name them as fixes: D.",
    ],
  ],
  [
    "a patch",
    "0.2.0",
    "0.2.1",
    [
      "0.2.1 removes public names of 0.2.0: B.",
      "0.2.1 changes public names of 0.2.0, and its section of CHANGELOG.md does not name them as fixes: A, C, D.",
    ],
  ],
])("the public names that %s may change are those of the policy", (_, before, after, expected) => {
  expect(findObstacles({ ...READY, ...stateOf(before, after) })).toEqual(expected);
});

it("changesets are judged by the version that they make, and by the unreleased part of the changelog", () => {
  const state = {
    ...READY,
    ...stateOf("0.1.0", "0.2.0"),
    isReleased: true,
    lastVersion: "0.2.0",
    changesets: [".changeset/a.md"],
    changes: { ...UNCHANGED, changed: ["D"] },
  };
  expect(findObstacles({ ...state, nextVersion: "0.3.0" })).toEqual([
    expect.stringContaining("without a version"),
  ]);
  expect(findObstacles({ ...state, nextVersion: "0.2.1" })[1]).toMatch(
    /^0\.2\.1 changes public names of 0\.2\.0/,
  );
  const changelog = state.changelog?.replace("## Unreleased\n", "## Unreleased\n\n- The type of `D`.\n");
  expect(findObstacles({ ...state, nextVersion: "0.2.1", changelog: changelog ?? "" })).toEqual([
    expect.stringContaining("without a version"),
    "CHANGELOG.md has unreleased changes.",
  ]);
});

it.each([
  ["1.0.0", "1.1.0"],
  ["0.2.0", "0.2.1"],
])(
  "after %s, version %s may fix the type of a name that its section of the changelog names",
  (before, after) => {
    const changes = { ...UNCHANGED, changed: ["D"] };
    const line = "- The type of `gateway.D()` allowed too little.";
    expect(findObstacles({ ...READY, ...stateOf(before, after, line), changes })).toEqual([]);
    expect(findObstacles({ ...READY, ...stateOf(before, after, "- `DE` and D"), changes })).toHaveLength(1);
  },
);
