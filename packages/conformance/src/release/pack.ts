// npm run pack -- FOLDER: packs every published package into a folder, for apps outside of the repository. The folder has the
// tarballs of this checkout only: those of an earlier run are removed.
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { MANIFESTS, packAnew } from "../support/packed-project.ts";

/** The tarballs that this command writes. */
const TARBALL = /^(?:calotype-[a-z0-9-]+|create-calotype)-\d+\.\d+\.\d+[^/]*\.tgz$/;

const [folder, ...others] = process.argv.slice(2);

if (folder === undefined || folder.startsWith("-") || others.length > 0) {
  process.stderr.write("Name one folder for the tarballs: npm run pack -- ../calotype-packages\n");
  process.exitCode = 2;
} else {
  packInto(folder);
}

function packInto(given: string): void {
  // npm runs scripts at the root of the workspace, and says where the user typed the command.
  const from = process.env["INIT_CWD"] ?? process.cwd();
  const path = resolve(from, given);
  mkdirSync(path, { recursive: true });
  for (const name of readdirSync(path).filter((file) => TARBALL.test(file))) rmSync(join(path, name));
  packAnew(path);
  const shown = relative(from, path) || ".";
  const create = MANIFESTS.find(({ name }) => name === "create-calotype")?.version ?? "";
  // Beside the packages, because an app in the clone would be a part of its workspace.
  process.stdout.write(`${MANIFESTS.length} packages are in ${path}. From here:

  npx ${dotted(shown)}/create-calotype-${create}.tgz ${dotted(join(shown, "../my-app"))} --packages ${dotted(shown)}
`);
}

/** A path that npm does not take for the name of a package. */
function dotted(path: string): string {
  return /^[./]/.test(path) ? path : `./${path}`;
}
