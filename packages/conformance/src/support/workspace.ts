import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The root of the workspace. */
export const ROOT = join(import.meta.dirname, "../../../..");

/**
 * Finds files of the workspace by patterns such as `packages/core/*.md`. Returns paths from the root, with
 * slashes.
 */
export function findFiles(...patterns: readonly string[]): string[] {
  const found = globSync(patterns, { cwd: ROOT, exclude: ["**/node_modules/**", "**/dist/**"] });
  return found.map((path) => path.replaceAll("\\", "/")).toSorted();
}

/** Reads a file of the workspace. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}
