import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
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
 * Creates an app from the tarballs and installs it, with the commands that a user types before the packages are on npm.
 *
 * @returns the folder of the app, and the commands
 */
export function installApp(
  packed: PackedPackages,
  name: string,
  { framework, providers, store, signIn }: AppChoices,
): { folder: string; commands: readonly TimedCommand[] } {
  // npx runs a file that is named by an absolute path, and does not install it.
  const create = `npx --yes --prefer-offline ./${basename(packed.tarballs["create-calotype"] ?? "")}`;
  const flags = `--framework ${framework} --providers ${providers.join(",")} --store ${store} --sign-in ${signIn} --yes`;
  const created = runTimed(`${create} ${name} ${flags} --packages .`, packed.folder);
  const folder = join(packed.folder, name);
  const installed = runTimed("npm install --no-audit --no-fund --prefer-offline", folder);
  return {
    folder,
    commands: [{ ...created, command: `npm create calotype ${name} -- ${flags}` }, installed],
  };
}
