import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import ts from "typescript5";
import { expect, it } from "vitest";
import { PUBLISHED_FOLDERS, readManifest } from "../support/packed-project.js";
import { findEntryPoints } from "./api-report.js";

// With `skipLibCheck: false`, a declaration that imports a package which users do not have is an error in their project.
it.each(PUBLISHED_FOLDERS)("the declarations of %s import only what its users have", (folder) => {
  const { dependencies, peerDependencies } = readManifest(`${folder}/package.json`);
  const installed = new Set(Object.keys({ ...dependencies, ...peerDependencies }));
  const imports = new Map<string, string>();
  for (const { declarations } of findEntryPoints([folder])) collectImports(declarations, new Set(), imports);

  const missing = [...imports].filter(([name]) => !isBuiltin(name) && !installed.has(packageOf(name)));
  expect(missing).toEqual([]);
});

/** Collects the packages that a declaration file and the files that it reaches import, with a file that does it. */
function collectImports(file: string, seen: Set<string>, imports: Map<string, string>): void {
  if (seen.has(file)) return;
  seen.add(file);
  const { importedFiles, typeReferenceDirectives } = ts.preProcessFile(readFileSync(file, "utf8"));
  for (const { fileName: name } of [...importedFiles, ...typeReferenceDirectives]) {
    if (name.startsWith(".")) collectImports(join(dirname(file), name.replace(/js$/, "d.ts")), seen, imports);
    else imports.set(name, file);
  }
}

/** `zod` for `zod/mini`, `@calotype/core` for `@calotype/core/billing`. */
function packageOf(name: string): string {
  return name.split("/", name.startsWith("@") ? 2 : 1).join("/");
}
