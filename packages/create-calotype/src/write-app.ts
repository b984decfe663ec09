import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

/** A folder that cannot take an app. The message says why, and what to do. */
export class FolderError extends Error {
  override readonly name = "FolderError";
}

/**
 * Writes the files of an app to a folder, which is created if it does not exist. Never replaces a file.
 *
 * @param files paths with slashes, and their text
 * @throws FolderError if the folder is not empty, or is a file
 */
export function writeApp(folder: string, files: ReadonlyMap<string, string>): void {
  checkFolder(folder);
  for (const [path, text] of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: "wx" });
  }
}

/** @throws FolderError if the folder has files (a `.git` does not count), or is a file */
export function checkFolder(folder: string): void {
  const found = readNames(folder).filter((name) => name !== ".git");
  if (found.length === 0) return;
  throw new FolderError(
    `The folder ${folder} is not empty: it contains ${found[0]}. Name a new or an empty folder.`,
  );
}

/** The name of the app in its package.json: that of its folder, with what npm does not accept replaced. */
export function toAppName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name.slice(0, 200) || "calotype-app";
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return [];
    if (code === "ENOTDIR") throw new FolderError(`${folder} is a file. Name a new or an empty folder.`);
    throw error;
  }
}
