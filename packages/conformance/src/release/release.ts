// npm run release -- --dry-run: checks the packages, and shows what would be published. Publishes nothing.
// npm run release -- --publish: the same, then publishes. Refuses outside of the workflow for releases.
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { MANIFESTS, PUBLISHED_FOLDERS, pack, pnpm } from "../support/packed-project.ts";
import { run } from "../support/run.ts";
import { findFiles, ROOT, readText } from "../support/workspace.ts";
import { createBill, renderBill } from "./bill-of-materials.ts";
import { compareApi } from "./compare-api.ts";
import { type ApiChanges, findObstacles } from "./obstacles.ts";
import { readProjectLinks } from "./project-links.ts";

/** Tests that say whether these packages may be published. The workflow runs all others before. */
const TESTS = [
  "packages/conformance/src/release/api-reports.test.ts",
  "packages/conformance/src/release/licences.test.ts",
  "packages/conformance/src/release/package-metadata.test.ts",
  "packages/conformance/src/release/supply-chain.test.ts",
  "packages/runtimes/src/budgets.test.ts",
];

/** The tags of releases begin so. All packages have one version, so those of one package are enough. */
const TAG_PREFIX = "@calotype/core@";

const [mode] = process.argv.slice(2);
const print = (text = ""): void => void process.stdout.write(`${text}\n`);

if (mode !== "--dry-run" && mode !== "--publish") {
  process.stderr.write("npm run release -- --dry-run, or --publish in the workflow for releases.\n");
  process.exitCode = 2;
} else {
  process.exitCode = release(mode === "--publish");
}

function release(isReal: boolean): number {
  const versions = Object.fromEntries(MANIFESTS.map(({ name, version }) => [name, version]));
  const changesets = findFiles(".changeset/*.md").filter((path) => basename(path) !== "README.md");
  // changesets makes a tag for each package, after npm has it.
  const tags = new Set(git("tag", "--list").split("\n"));
  const isReleased = MANIFESTS.every(({ name, version }) => tags.has(`${name}@${version}`));
  if (isReal && isReleased && changesets.length === 0) {
    print("This version is released, and there are no changesets. Nothing is published.");
    // The action of the workflow reads this file: the tags that were made, here none.
    const output = process.env["CHANGESETS_OUTPUT"];
    if (output !== undefined) appendFileSync(output, "");
    return 0;
  }

  const lastTag = findLastTag(isReleased);
  const nextVersion = changesets.length > 0 ? readNextVersion() : undefined;
  const changes = showPublicNames(lastTag);
  const obstacles = findObstacles({
    links: readProjectLinks(),
    versions,
    changelog: readText("CHANGELOG.md"),
    changesets,
    nextVersion,
    status: git("status", "--porcelain"),
    lastVersion: lastTag?.slice(TAG_PREFIX.length),
    isReleased,
    changes,
    env: process.env,
  });
  if (isReal && obstacles.length > 0) {
    for (const obstacle of obstacles) process.stderr.write(`Refused: ${obstacle}\n`);
    return 1;
  }

  print("\nChecks: publint, types for every resolution, public names, sizes, licences, metadata");
  if (!passes(process.execPath, [join(import.meta.dirname, "../check-packages.ts")])) return 1;
  if (!passes("npx", ["-y", pnpm(), "exec", "vitest", "run", ...TESTS])) return 1;

  showTarballs();
  writeBills();
  const changeset = ["-y", pnpm(), "exec", "changeset"];
  if (isReal) {
    // The second command makes tags that are missing of packages that npm has: of a release that stopped half-way.
    const isDone = passes("npx", [...changeset, "publish"]) && passes("npx", [...changeset, "git-tag"]);
    return isDone ? 0 : 1;
  }

  print(`\nA release would run: PNPM_CONFIG_PROVENANCE=true npx ${changeset.join(" ")} publish`);
  print("Provenance: signed in the workflow .github/workflows/release.yml of");
  print(`  ${readProjectLinks().repository.url}, commit ${git("rev-parse", "HEAD").trim()}`);
  print("\nNothing was published.");
  if (nextVersion !== undefined) print(`The changesets make version ${nextVersion}.`);
  if (obstacles.length > 0) print("A release would be refused now:");
  for (const obstacle of obstacles) print(`- ${obstacle}`);
  return 0;
}

/** The newest tag of a release to compare with: not that of this version, if only some packages of it are released. */
function findLastTag(isReleased: boolean): string | undefined {
  const version = MANIFESTS.find(({ name }) => name === "@calotype/core")?.version;
  const tags = git("tag", "--list", `${TAG_PREFIX}*`, "--sort=-v:refname").split("\n");
  return tags.find((tag) => tag !== "" && (isReleased || tag !== `${TAG_PREFIX}${version}`));
}

/** The version that the changesets will make, or `undefined` if they name no package. */
function readNextVersion(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), "calotype-changesets-"));
  try {
    const path = join(folder, "status.json");
    run("npx", ["-y", pnpm(), "exec", "changeset", "status", "--output", path], ROOT);
    const { releases }: { readonly releases: readonly { readonly newVersion: string }[] } = JSON.parse(
      readFileSync(path, "utf8"),
    );
    return releases[0]?.newVersion;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Prints how the public names differ from those of the last release, and returns the differences of all entry points. */
function showPublicNames(tag: string | undefined): ApiChanges {
  const all = {
    added: [] as string[],
    removed: [] as string[],
    extended: [] as string[],
    changed: [] as string[],
  };
  const signs = { added: "+", removed: "-", extended: "~ only more is possible:", changed: "~" };
  print(tag ? `Public names since ${tag}` : "Public names (there is no tag of a release to compare with)");
  const old = tag ? git("ls-tree", "-r", "--name-only", tag, "packages").split("\n") : [];
  const present = new Set(findFiles("packages/*/api/*.api.md"));
  const reports = new Set([...present, ...old.filter((path) => /\/api\/.+\.api\.md$/.test(path))]);
  for (const path of [...reports].toSorted()) {
    const before = old.includes(path) ? git("show", `${tag}:${path}`) : "";
    const difference = compareApi(before, present.has(path) ? readText(path) : "");
    if (tag === undefined) {
      print(`  ${path}: ${difference.added.length} names`);
      continue;
    }
    for (const kind of ["added", "removed", "extended", "changed"] as const) {
      for (const name of difference[kind]) {
        print(`  ${signs[kind]} ${name} (${path})`);
        for (const line of difference.lines.get(name) ?? []) print(`      ${line}`);
        all[kind].push(name);
      }
    }
  }
  if (tag !== undefined && Object.values(all).every((names) => names.length === 0)) print("  no difference");
  return all;
}

/** Packs all packages, and prints what is in them. */
function showTarballs(): void {
  const folder = mkdtempSync(join(tmpdir(), "calotype-release-"));
  try {
    print("\nPackages:");
    for (const tarball of pack(folder)) {
      const listed = run("tar", ["-tzf", tarball], folder).trim().split("\n");
      const files = listed.map((path) => path.slice("package/".length));
      const size = statSync(tarball).size;
      const manifest: { readonly name: string; readonly version: string } = JSON.parse(
        run("tar", ["-xzOf", tarball, "package/package.json"], folder),
      );
      print(
        `\n${manifest.name} ${manifest.version}: ${files.length} files, ${(size / 1024).toFixed(0)} KiB packed`,
      );
      for (const [part, count] of countByFolder(files))
        print(`  ${part}${count === 1 ? "" : ` (${count} files)`}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Writes the bill of materials of each package, with what npm installs with it. */
function writeBills(): void {
  const folder = join(ROOT, ".reports/bills-of-materials");
  mkdirSync(folder, { recursive: true });
  print("\nBills of materials (CycloneDX), in .reports/bills-of-materials:");
  for (const path of PUBLISHED_FOLDERS) {
    const bill = createBill(path, "installed");
    const bundled = createBill(path, "bundled").components.length;
    const file = `${basename(path)}.cdx.json`;
    writeFileSync(join(folder, file), renderBill(bill));
    print(`  ${file}: ${bill.components.length} packages, ${bundled} of them in the tarball`);
  }
}

/** Files at the top one by one, and how many each folder has. */
function countByFolder(files: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const file of files) {
    const part = file.includes("/") ? `${file.split("/")[0]}/` : file;
    counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  return [...counts].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function git(...args: string[]): string {
  return run("git", args, ROOT);
}

/** Runs a program with its output on the terminal. */
function passes(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { cwd: ROOT, stdio: "inherit" }).status === 0;
}
