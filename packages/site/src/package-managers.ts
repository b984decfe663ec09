// The commands of npm that install packages, as commands of the other package managers.

const NAMES = ["npm", "pnpm", "yarn", "bun"] as const;

/** `npm`, `pnpm`, `yarn` or `bun`. */
type Name = (typeof NAMES)[number];

/**
 * The commands of a block for each package manager. The list is empty if the block installs nothing from a registry, or has a
 * command of npm that the others do not have in the same form.
 */
export function splitByPackageManager(block: string): [name: Name, commands: string][] {
  if (!/^npm (?:install [^-.]|install --save-dev |create )/m.test(block)) return [];
  const translated = NAMES.map((name): [Name, (string | undefined)[]] => [
    name,
    block
      .trimEnd()
      .split("\n")
      .map((line) => translate(line, name)),
  ]);
  if (translated.some(([, lines]) => lines.includes(undefined))) return [];
  return translated.map(([name, lines]) => [name, `${lines.join("\n")}\n`]);
}

/** A line for a package manager, or `undefined` if there is no command that does the same. */
function translate(line: string, name: Name): string | undefined {
  if (name === "npm") return line;
  const [, install, dev, packages = ""] = /^npm (install)( --save-dev)?( [^-].*)?$/.exec(line) ?? [];
  if (install !== undefined) {
    if (packages === "") return name === "yarn" ? "yarn" : `${name} install`;
    const flag = dev === undefined ? "" : name === "pnpm" ? " --save-dev" : " --dev";
    return `${name} add${flag}${packages}`;
  }
  const [, created] = /^npm create (.+)$/.exec(line) ?? [];
  // npm alone needs `--` before the options of the program.
  if (created !== undefined) return `${name} create ${created.replace(" -- ", " ")}`;
  const [, script] = /^npm run (\S+)$/.exec(line) ?? [];
  if (script !== undefined) return name === "yarn" ? `yarn ${script}` : `${name} run ${script}`;
  return /^(?:npm|npx) /.test(line) || line.includes("&& npm") ? undefined : line;
}
