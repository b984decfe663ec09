import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CodeBlock } from "./extract-code.js";
import { ROOT } from "./workspace.js";

const FOLDER = join(ROOT, "packages/conformance/.docs-check");

const PREACT = [join(ROOT, "packages/conformance/src/support/preact.d.ts")];

const COMPILER_OPTIONS = {
  noEmit: true,
  paths: { preact: PREACT, "preact/*": PREACT },
  moduleDetection: "force",
  declaration: false,
  declarationMap: false,
  jsx: "react-jsx",
  // Examples may declare variables that they do not use.
  noUnusedLocals: false,
  noUnusedParameters: false,
};

/**
 * Compiles every block as a separate module, all in one run, and returns the errors as `README.md:42:5 error TS2322:
 * …` with the line of the document. A block of a package may import this package and its dependencies. Other blocks
 * may import the dependencies of the conformance package.
 */
export function compileBlocks(blocks: readonly CodeBlock[]): string[] {
  rmSync(FOLDER, { recursive: true, force: true });
  const files = new Map(
    blocks.map((block, index) => [`${findHome(block.path)}/${index}.ts${block.isJsx ? "x" : ""}`, block]),
  );
  for (const home of new Set(blocks.map(({ path }) => findHome(path)))) imitatePackage(home);
  for (const [file, { line, code }] of files) {
    // The empty lines give the code the same line numbers as in the document.
    writeFileSync(join(FOLDER, file), "\n".repeat(line - 1) + code);
  }
  const extended = { extends: "../../../tsconfig.base.json", compilerOptions: COMPILER_OPTIONS };
  writeFileSync(join(FOLDER, "tsconfig.json"), JSON.stringify({ ...extended, files: [...files.keys()] }));
  const problems = compile().map((report) => locate(report, blocks));
  rmSync(FOLDER, { recursive: true });
  return problems;
}

/** The package whose imports a block of this file may use. A skill shows an app, which has several packages. */
function findHome(path: string): string {
  if (path.endsWith("/SKILL.md")) return "conformance";
  return /^packages\/([^/]+)\//.exec(path)?.[1] ?? "conformance";
}

/** A folder in which imports are resolved as in the package, including the package's own name. */
function imitatePackage(name: string): void {
  const [from, to] = [join(ROOT, "packages", name), join(FOLDER, name)];
  mkdirSync(to, { recursive: true });
  copyFileSync(join(from, "package.json"), join(to, "package.json"));
  for (const folder of ["node_modules", "dist"]) {
    if (existsSync(join(from, folder))) symlinkSync(join(from, folder), join(to, folder), "junction");
  }
}

/** The lines that the compiler prints. */
function compile(): string[] {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const { stdout, stderr, error } = spawnSync(process.execPath, [tsc, "-p", FOLDER, "--pretty", "false"], {
    encoding: "utf8",
  });
  if (error !== undefined) throw error;
  return `${stdout}${stderr}`.split("\n").filter((line) => line !== "");
}

function locate(report: string, blocks: readonly CodeBlock[]): string {
  const found = /(\d+)\.tsx?\((\d+),(\d+)\): (.*)$/.exec(report);
  if (found === null) return report;
  const [, index, line, column, message] = found;
  return `${blocks[Number(index)]?.path ?? report}:${line}:${column} ${message}`;
}
