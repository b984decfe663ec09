import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { PUBLISHED, pack } from "@calotype/conformance/support/packed-project";
import type { AppChoices } from "../choices.js";

/** A folder outside the workspace with the tarballs of all published packages. */
export interface PackedPackages {
  readonly folder: string;
  /** The path of the tarball of each package. */
  readonly tarballs: Readonly<Record<string, string>>;
  readonly remove: () => void;
}

/** Packs all published packages. */
export function packPackages(): PackedPackages {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "create-calotype-")));
  pack(folder);
  const tarballs = PUBLISHED.map((name): [string, string] => {
    const [file] = globSync(`${name.replace("@", "").replace("/", "-")}-[0-9]*.tgz`, { cwd: folder });
    if (file === undefined) throw new Error(`${name} was not packed.`);
    return [name, join(folder, file)];
  });
  return {
    folder,
    tarballs: Object.fromEntries(tarballs),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** A command that a user types, and how long it took. */
export interface TimedCommand {
  readonly command: string;
  readonly seconds: number;
  readonly output: string;
}

/** The environment of a user in an empty folder: this Node is found first, and nothing is left of the workspace's npm. */
export const USER_ENV = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|PNPM|NODE_PATH|CI$)/i.test(name)),
  ),
  PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
};

/** Runs a command in a folder. Throws an error with its output if it fails. */
export function runTimed(command: string, cwd: string): TimedCommand {
  const startedAt = performance.now();
  const { status, stdout, stderr } = spawnSync("sh", ["-c", command], {
    cwd,
    encoding: "utf8",
    env: USER_ENV,
  });
  if (status !== 0) throw new Error(`${command} ended with ${status}:\n${stdout}\n${stderr}`);
  return { command, seconds: (performance.now() - startedAt) / 1000, output: stdout };
}

/**
 * Creates an app from the tarballs and installs it, with the commands that a user types. The only difference: our packages
 * come from the tarballs and not from npm.
 *
 * @returns the folder of the app, and the commands
 */
export function installApp(
  packed: PackedPackages,
  name: string,
  { framework, providers, store, signIn }: AppChoices,
): { folder: string; commands: readonly TimedCommand[] } {
  // What `npm create calotype` does.
  const create = `npm exec --yes --prefer-offline --package=${packed.tarballs["create-calotype"]} -- create-calotype`;
  const flags = `--framework ${framework} --providers ${providers.join(",")} --store ${store} --sign-in ${signIn} --yes`;
  const created = runTimed(`${create} ${name} ${flags}`, packed.folder);
  const folder = join(packed.folder, name);
  useTarballs(join(folder, "package.json"), packed);
  const installed = runTimed("npm install --no-audit --no-fund --prefer-offline", folder);
  return {
    folder,
    commands: [{ ...created, command: `npm create calotype ${name} -- ${flags}` }, installed],
  };
}

/**
 * Changes a package.json: direct dependencies name the tarballs, and `overrides` those of our packages below them. Packages
 * of the workspace that are not published are left out.
 */
export function useTarballs(path: string, { tarballs }: PackedPackages): void {
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  const overrides: Record<string, string> = {};
  for (const [name, tarball] of Object.entries(tarballs)) {
    const field = ["dependencies", "devDependencies"].find((one) => manifest[one]?.[name] !== undefined);
    if (field !== undefined) manifest[field][name] = `file:${tarball}`;
    overrides[name] = field === undefined ? `file:${tarball}` : `$${name}`;
  }
  for (const name of Object.keys(manifest.devDependencies))
    if (String(manifest.devDependencies[name]).startsWith("workspace:"))
      delete manifest.devDependencies[name];
  writeFileSync(path, JSON.stringify({ ...manifest, overrides }, null, 2));
}
