// npm run release -- --dry-run: checks the packages, and shows what would be published. Publishes nothing.
// npm run release -- --publish: the same, then publishes. Refuses outside of the workflow for releases.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { MANIFESTS, pack, pnpm } from "../support/packed-project.ts";
import { run } from "../support/run.ts";
import { findFiles, ROOT, readText } from "../support/workspace.ts";
import { compareApi } from "./api-report.ts";
import { findObstacles } from "./obstacles.ts";
import { readProjectLinks } from "./project-links.ts";

/** Tests that say whether these packages may be published. The workflow runs all others before. */
const TESTS = [
  "packages/conformance/src/release/api-reports.test.ts",
  "packages/conformance/src/release/licences.test.ts",
  "packages/conformance/src/release/package-metadata.test.ts",
  "packages/runtimes/src/budgets.test.ts",
];

const [mode] = process.argv.slice(2);
const print = (text = ""): void => void process.stdout.write(`${text}\n`);

if (mode !== "--dry-run" && mode !== "--publish") {
  process.stderr.write("npm run release -- --dry-run, or --publish in the workflow for releases.\n");
  process.exitCode = 2;
} else {
  process.exitCode = release(mode === "--publish");
}

function release(isReal: boolean): number {
  const { broken, lastVersion } = showPublicNames();
  const obstacles = findObstacles({
    links: readProjectLinks(),
    versions: Object.fromEntries(MANIFESTS.map(({ name, version }) => [name, version])),
    changelog: readText("CHANGELOG.md"),
    changesets: findFiles(".changeset/*.md").filter((path) => basename(path) !== "README.md"),
    status: git("status", "--porcelain"),
    lastVersion,
    brokenNames: broken,
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
  const command = ["-y", pnpm(), "exec", "changeset", "publish"];
  if (isReal) return passes("npx", command) ? 0 : 1;

  print(`\nA release would run: NPM_CONFIG_PROVENANCE=true npx ${command.join(" ")}`);
  print("Provenance: signed in the workflow .github/workflows/release.yml of");
  print(`  ${readProjectLinks().repository.url}, commit ${git("rev-parse", "HEAD").trim()}`);
  print("\nNothing was published.");
  if (obstacles.length > 0) print("A release would be refused now:");
  for (const obstacle of obstacles) print(`- ${obstacle}`);
  return 0;
}

/** Prints how the public names differ from those of the last release. */
function showPublicNames(): { readonly broken: string[]; readonly lastVersion: string | undefined } {
  // changesets makes a tag for each package. They all have one version.
  const [tag] = git("tag", "--list", "@calotype/core@*", "--sort=-v:refname").split("\n");
  const broken: string[] = [];
  print(tag ? `Public names since ${tag}` : "Public names (there is no tag of a release to compare with)");
  const old = tag ? git("ls-tree", "-r", "--name-only", tag, "packages").split("\n") : [];
  const reports = new Set([
    ...findFiles("packages/*/api/*.api.md"),
    ...old.filter((path) => /\/api\/.+\.api\.md$/.test(path)),
  ]);
  const present = new Set(findFiles("packages/*/api/*.api.md"));
  for (const path of [...reports].toSorted()) {
    const before = old.includes(path) ? git("show", `${tag}:${path}`) : "";
    const { added, removed, changed } = compareApi(before, present.has(path) ? readText(path) : "");
    broken.push(...removed, ...changed);
    if (!tag) {
      print(`  ${path}: ${added.length} names`);
      continue;
    }
    for (const [sign, names] of Object.entries({ "+": added, "-": removed, "~": changed })) {
      for (const name of names) print(`  ${sign} ${name} (${path})`);
    }
  }
  return { broken, lastVersion: tag ? tag.slice("@calotype/core@".length) : undefined };
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
