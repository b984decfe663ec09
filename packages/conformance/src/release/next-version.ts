// npm run release:version: gives all packages the version that the changesets ask for, and gives the unreleased part of
// CHANGELOG.md its heading. Commits nothing.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pnpm } from "../support/packed-project.ts";
import { ROOT, readText } from "../support/workspace.ts";

const { status } = spawnSync("npx", ["-y", pnpm(), "exec", "changeset", "version"], {
  cwd: ROOT,
  stdio: "inherit",
});
if (status !== 0) throw new Error(`changeset version ended with ${status}.`);

const { version }: { readonly version: string } = JSON.parse(readText("packages/core/package.json"));
const path = join(ROOT, "CHANGELOG.md");
const changelog = readFileSync(path, "utf8");
if (changelog.includes(`## ${version} - `))
  throw new Error(`CHANGELOG.md has ${version}: there was no changeset.`);
const today = new Date().toISOString().slice(0, 10);
writeFileSync(path, changelog.replace("## Unreleased\n", `## Unreleased\n\n## ${version} - ${today}\n`));
