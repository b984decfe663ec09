// npm run release:version: gives all packages the version that the changesets ask for, and writes it into the files that
// name it. Commits nothing.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PUBLISHED_FOLDERS, pnpm } from "../support/packed-project.ts";
import { ROOT, readText } from "../support/workspace.ts";
import { copyDocs } from "./package-docs.ts";
import { addHeading, addVersion } from "./released-files.ts";

runTool("changeset", "version");
const { version }: { readonly version: string } = JSON.parse(readText("packages/core/package.json"));
update("CHANGELOG.md", (changelog) => addHeading(changelog, version, new Date()));
update("packages/site/versions.json", (list) => addVersion(list, version));
update("packages/mcp/src/version.ts", (file) => file.replace(/"[^"]*"/, JSON.stringify(version)));
// The document has the version, and this test writes it.
runTool("vitest", "run", "packages/core/src/features/openapi", "--update");
// The action of the workflow stops at a package without a changelog. Git ignores these copies.
for (const folder of PUBLISHED_FOLDERS) copyDocs(folder);

function update(path: string, change: (text: string) => string): void {
  writeFileSync(join(ROOT, path), change(readText(path)));
}

/** Runs a program of the workspace. */
function runTool(...command: readonly string[]): void {
  const args = ["-y", pnpm(), "exec", ...command];
  const { status } = spawnSync("npx", args, { cwd: ROOT, stdio: "inherit" });
  if (status !== 0) throw new Error(`${command.join(" ")} ended with ${status}.`);
}
