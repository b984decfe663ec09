import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, globSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

/** Copies the workspace with its uncommitted changes and its builds. The modules of others are linked. */
export function copyWorkspace(root: string, copy: string): void {
  rmSync(copy, { recursive: true, force: true });
  const list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
  const files = execFileSync("git", list, { cwd: root, encoding: "utf8" }).split("\0");
  for (const file of files) {
    if (file === "" || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    copyFileSync(join(root, file), join(copy, file));
  }
  for (const folder of globSync("{packages,examples}/*/{node_modules,dist}", { cwd: root })) {
    cpSync(join(root, folder), join(copy, folder), { recursive: true, verbatimSymlinks: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "junction");
}

/** Builds core without its types, which no test of behaviour reads. */
export function buildCore(copy: string): void {
  for (const options of [[], ["--config", "tsup.commonjs.config.ts"]]) {
    execFileSync(
      process.execPath,
      [join(copy, "node_modules/tsup/dist/cli-default.js"), "--silent", ...options],
      {
        cwd: join(copy, "packages/core"),
      },
    );
  }
}
