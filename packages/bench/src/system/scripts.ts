import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const SOURCES = fileURLToPath(new URL("..", import.meta.url));
/** Next to the sources, so that packages are found. */
const SCRIPTS = fileURLToPath(new URL("../../dist", import.meta.url));

/** The JavaScript of a source file such as `targets/minimal`; {@link writeScripts} must have run. */
export function scriptOf(name: string): string {
  return join(SCRIPTS, `${name}.js`);
}

/**
 * Writes every source as JavaScript. Node could run the sources as they are, but its compiler would stay in the
 * memory of each process that is measured.
 *
 * @param against the folder of another checkout that is built; scripts of the folder `against` use its core and node
 */
export function writeScripts(against?: string): void {
  writeTo(SCRIPTS, (code) => code);
  if (against === undefined) return;
  const toUrl = (_: string, name: string): string =>
    `from "${pathToFileURL(resolve(against, "packages", name, "dist/index.js")).href}"`;
  writeTo(join(SCRIPTS, "against"), (code) => code.replaceAll(/from "@calotype\/(core|node)"/g, toUrl));
}

function writeTo(folder: string, change: (code: string) => string): void {
  for (const path of readdirSync(SOURCES, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts")) continue;
    const file = join(folder, path.replace(/\.ts$/, ".js"));
    const code = stripTypeScriptTypes(readFileSync(join(SOURCES, path), "utf8"));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, change(code.replaceAll(/(from "\.{1,2}\/[^"]+)\.ts"/g, '$1.js"')));
  }
}
