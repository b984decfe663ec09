import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { CodeBlock } from "./extract-code.js";
import { ROOT } from "./workspace.js";

const FOLDER = join(ROOT, "packages/conformance/.docs-check");

const COMPILER_OPTIONS = {
  noEmit: true,
  moduleDetection: "force",
  // What an example makes, it does not always use.
  noUnusedLocals: false,
  noUnusedParameters: false,
};

/**
 * Compiles every block as a module of its own, all in one run, and gives what is wrong as
 * `README.md:42:5 error TS2322: …`, the line being that of the document.
 */
export function compileBlocks(blocks: readonly CodeBlock[]): string[] {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const paths = new Map(blocks.map((block, index) => [`${index}.ts`, block.path]));
  const extended = { extends: "../../../tsconfig.base.json", compilerOptions: COMPILER_OPTIONS };
  writeFileSync(join(FOLDER, "tsconfig.json"), JSON.stringify({ ...extended, files: [...paths.keys()] }));
  for (const [index, { line, code }] of blocks.entries()) {
    // The empty lines give the code the line numbers that it has in the document.
    writeFileSync(join(FOLDER, `${index}.ts`), "\n".repeat(line - 1) + code);
  }
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  const { stdout, stderr, error } = spawnSync(process.execPath, [tsc, "-p", FOLDER, "--pretty", "false"], {
    encoding: "utf8",
  });
  if (error !== undefined) throw error;
  return `${stdout}${stderr}`
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => locate(line, paths));
}

function locate(report: string, paths: ReadonlyMap<string, string>): string {
  const found = /^(.+)\((\d+),(\d+)\): (.*)$/.exec(report);
  if (found === null) return report;
  const [, file = "", line, column, message] = found;
  return `${paths.get(basename(file)) ?? file}:${line}:${column} ${message}`;
}
