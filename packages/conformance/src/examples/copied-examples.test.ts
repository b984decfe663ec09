import { cpSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, posix, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Manifest, packAsDependencies, readManifest } from "../support/packed-project.js";
import { readImports } from "../support/read-imports.js";
import { run } from "../support/run.js";
import { isFull } from "../support/test-run.js";
import { findFiles, ROOT, readText } from "../support/workspace.js";

/*
 * Each folder of `examples` can be copied out of the repository. `npm test` reads what the files import; `npm run test:full`
 * copies each folder, installs it with npm from the packed tarballs, and runs its own checks there.
 */

/** The tour of the repository runs another example. The apps of `create-calotype` have tests of their own. */
const NOT_COPIED = /^examples\/(?:demo|frameworks)\b/;
const FOLDERS = findFiles("examples/*/package.json")
  .map((path) => dirname(path))
  .filter((folder) => !NOT_COPIED.test(folder));

describe.each(FOLDERS)("%s", (folder) => {
  const manifest = readManifest(`${folder}/package.json`);
  const own = dependenciesOf(manifest);

  it("imports only its own files, Node and what its package.json names", () => {
    const files = findFiles(`${folder}/**/*.{ts,tsx,js}`).filter((path) => !path.includes("/.next/"));
    const foreign = files.flatMap((path) =>
      readImports(readText(path))
        .filter((name) => !isOwn(name, path))
        .map((name) => `${path}: ${name}`),
    );

    expect(files).not.toEqual([]);
    expect(foreign).toEqual([]);
  });

  it("has a package.json that npm can install, and a tsconfig.json of its own", () => {
    const ours = Object.entries(own).filter(([name]) => name.startsWith("@calotype/"));

    expect(ours).toContainEqual(["@calotype/core", "latest"]);
    expect(ours.filter(([, range]) => range !== "latest")).toEqual([]);
    expect(JSON.parse(readText(`${folder}/tsconfig.json`))).not.toHaveProperty("extends");
  });

  function isOwn(name: string, path: string): boolean {
    if (name.startsWith("node:") || builtinModules.includes(name)) return true;
    if (name.startsWith(".")) {
      const target = posix.join(posix.dirname(path), name);
      return target.startsWith(`${folder}/`) && existsSync(join(ROOT, target));
    }
    const [packageName = ""] = /^(?:@[^/]+\/)?[^/]+/.exec(name) ?? [];
    return packageName in own;
  }
});

// Not `describe.runIf`, which counts as skipped: with CI=true no test may be.
describe.each(isFull() ? ["installed from tarballs"] : [])("a copy, %s", () => {
  let outside: string;
  let tarballs: Readonly<Record<string, string>>;
  beforeAll(() => {
    outside = realpathSync(mkdtempSync(join(tmpdir(), "calotype-examples-")));
    tarballs = packAsDependencies(outside);
  }, 180_000);
  afterAll(() => rmSync(outside, { recursive: true, force: true, maxRetries: 5 }), 60_000);

  it.each(FOLDERS)("%s has correct types, and passes its tests", { timeout: 400_000 }, (folder) => {
    const copy = join(outside, basename(folder));
    cpSync(join(ROOT, folder), copy, {
      recursive: true,
      filter: (path) => !/^(?:node_modules|\.next)$/.test(relative(join(ROOT, folder), path)),
    });
    useTarballs(join(copy, "package.json"));

    run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline"], copy);
    expect(() => run("npm", ["run", "typecheck"], copy)).not.toThrow();
    expect(() => run("npm", ["test", "--if-present"], copy)).not.toThrow();

    rmSync(copy, { recursive: true, maxRetries: 5 });
  });

  /** Does what `npm install FILES` does: names the tarballs in place of `latest`. */
  function useTarballs(path: string): void {
    const manifest: Record<string, Record<string, string>> = JSON.parse(readFileSync(path, "utf8"));
    for (const field of ["dependencies", "devDependencies", "optionalDependencies"]) {
      for (const name of Object.keys(manifest[field] ?? {})) {
        const tarball = tarballs[name];
        if (tarball !== undefined) Object.assign(manifest[field] ?? {}, { [name]: tarball });
      }
    }
    writeFileSync(path, JSON.stringify(manifest));
  }
});

function dependenciesOf(manifest: Manifest & { optionalDependencies?: Record<string, string> }) {
  return { ...manifest.dependencies, ...manifest.optionalDependencies, ...manifest.devDependencies };
}
