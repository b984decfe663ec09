import { readdirSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";

/** A folder without the tarballs of our packages. The message says how to write them. */
export class TarballsError extends Error {
  override readonly name = "TarballsError";
}

/** What `npm pack` and `pnpm pack` make of the name and the version of `@calotype/core`. */
const TARBALL = /^calotype-([a-z0-9-]+)-\d+\.\d+\.\d+[^/]*\.tgz$/;

/**
 * The packages of the folder that `npm run pack` of the repository wrote, as dependencies of an app: `@calotype/core` is
 * `file:../packages/calotype-core-0.1.0.tgz`, relative to the folder of the app.
 *
 * @throws TarballsError if the folder has no tarball of ours, or two of one package
 */
export function findTarballs(folder: string, app: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const file of readNames(folder)) {
    const [, short] = TARBALL.exec(file) ?? [];
    if (short === undefined) continue;
    const name = `@calotype/${short}`;
    if (found[name] !== undefined)
      throw new TarballsError(`${folder} has two tarballs of ${name}. Remove the older one.`);
    found[name] = `file:${relative(resolve(app), resolve(join(folder, file))).replaceAll(sep, "/")}`;
  }
  if (found["@calotype/core"] !== undefined) return found;
  throw new TarballsError(
    `${folder} has no tarball of @calotype/core. In a clone of the repository, npm run pack -- FOLDER writes them.`,
  );
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") throw new TarballsError(`${folder} is not a folder.`);
    throw error;
  }
}
