import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

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
 */
export function writeScripts(): void {
  for (const path of readdirSync(SOURCES, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts")) continue;
    const file = join(SCRIPTS, path.replace(/\.ts$/, ".js"));
    const code = stripTypeScriptTypes(readFileSync(join(SOURCES, path), "utf8"));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code.replaceAll(/(from "\.{1,2}\/[^"]+)\.ts"/g, '$1.js"'));
  }
}
