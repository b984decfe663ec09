// The commands of the pages as they work before the first release, with the tarballs that `npm run pack` writes: docs/install.md.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./pages.ts";

/** Where docs/install.md puts the tarballs, seen from the clone and from an app beside it. */
const FOLDER = "../calotype-packages";
const PACK = `npm run pack -- ${FOLDER}`;

/** Two more characters, for the indentation, still fit into a page. */
const MAX_LINE = 80;

/**
 * A block whose commands install our packages, with tarballs in place of npm: `npm install @calotype/core hono` becomes
 * `npm install ../calotype-packages/calotype-core-*.tgz hono`. A package comes with those of ours that it depends on, because npm
 * does not have them. The command that makes an app is for the clone, and puts the app beside it. The other commands stay. Empty
 * if the block installs none of our packages.
 *
 * @param version of the packages
 */
export function toCloneCommands(block: string, version: string): string {
  const lines = block
    .replaceAll(/\\\n\s*/g, "")
    .trimEnd()
    .split("\n");
  const commands = lines.map((line) => toCreate(line, version) ?? toInstall(line));
  if (commands.every((command) => command === undefined)) return "";
  return lines
    .map((line, index) => commands[index] ?? line.replace(/^cd my-app$/, "cd ../my-app"))
    .join("\n");
}

/** The two commands, in the clone, that stand for `npm create calotype my-app`. */
export function createFromClone(options: string, version: string): string {
  const words = ["../my-app", `--packages ${FOLDER}`, ...options.split(" ").filter(Boolean)];
  return `${PACK}\nnpx ${FOLDER}/create-calotype-${version}.tgz \\\n  ${fold(words)}`;
}

/** `npm create calotype my-app -- --yes`, also with a comment. Without a folder, the app is `my-app` too. */
function toCreate(line: string, version: string): string | undefined {
  const [, words] = /^npm create calotype\b(?: my-app)?([^#]*)/.exec(line) ?? [];
  return words === undefined ? undefined : createFromClone(words.replace(" -- ", " "), version);
}

function toInstall(line: string): string | undefined {
  const [, command = "", words = ""] = /^(npm install|bun add)((?: --?[\w-]+)*(?: [^#]*)?)/.exec(line) ?? [];
  const names = words.trim().split(/\s+/);
  const ours = names.flatMap((name) => /^@calotype\/([\w-]+)$/.exec(name)?.[1] ?? []);
  if (command === "" || ours.length === 0) return undefined;
  const all = [...addDependencies(ours)];
  const files = all.length === 1 ? all[0] : `{${all.join(",")}}`;
  const others = names.filter((name) => !name.startsWith("@calotype/"));
  const flags = others.filter((name) => name.startsWith("-"));
  const rest = others.filter((name) => !name.startsWith("-"));
  return fold(["npm install", ...flags, `${FOLDER}/calotype-${files}-*.tgz`, ...rest]);
}

/** The packages, and those of ours that they depend on. */
function addDependencies(names: readonly string[]): ReadonlySet<string> {
  const all = new Set(names);
  // A set also visits what is added meanwhile.
  for (const name of all) for (const other of DEPENDENCIES.get(name) ?? []) all.add(other);
  return all;
}

/** What each of our packages needs of our packages: `express` needs `core` and `node`. */
const DEPENDENCIES: ReadonlyMap<string, readonly string[]> = new Map(
  globSync("packages/*/package.json", { cwd: ROOT }).map((path): [string, string[]] => {
    const { name, dependencies } = JSON.parse(readFileSync(join(ROOT, path), "utf8"));
    const ours = Object.keys(dependencies ?? {}).filter((other) => other.startsWith("@calotype/"));
    return [toShort(name), ours.map(toShort)];
  }),
);

function toShort(name: string): string {
  return name.replace("@calotype/", "");
}

/** The words of a command, in lines that fit into a page. */
function fold([first = "", ...words]: readonly string[]): string {
  const lines = [first];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length + " \\".length > MAX_LINE) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.join(" \\\n  ");
}
