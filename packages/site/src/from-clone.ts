// The commands of the pages as they work before the first release, with the tarballs that `npm run pack` writes: docs/install.md.

/** Where docs/install.md puts the tarballs, seen from an app beside the clone. */
const FOLDER = "../calotype-packages";

/**
 * A block whose commands install our packages, with tarballs in place of npm: `npm install @calotype/core hono` becomes
 * `npm install ../calotype-packages/calotype-core-*.tgz hono`. The other commands stay. Empty if the block installs none.
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
  return lines.map((line, index) => commands[index] ?? line).join("\n");
}

/** `npm create calotype my-app -- --yes`, also with `npm init` and a comment. */
function toCreate(line: string, version: string): string | undefined {
  const [, words] = /^npm create calotype\b([^#]*)/.exec(line) ?? [];
  if (words === undefined) return undefined;
  const rest = words.replace(" -- ", " ").trim();
  return `npx ${FOLDER}/create-calotype-${version}.tgz ${rest} --packages ${FOLDER}`.replaceAll(
    / {2,}/g,
    " ",
  );
}

function toInstall(line: string): string | undefined {
  const [, command = "", words = ""] = /^(npm install|bun add)((?: --?[\w-]+)*(?: [^#]*)?)/.exec(line) ?? [];
  const names = words.trim().split(/\s+/);
  const ours = names.flatMap((name) => /^@calotype\/([\w-]+)$/.exec(name)?.[1] ?? []);
  if (command === "" || ours.length === 0) return undefined;
  const files = ours.length === 1 ? ours[0] : `{${ours.join(",")}}`;
  const others = names.filter((name) => !name.startsWith("@calotype/"));
  const flags = others.filter((name) => name.startsWith("-"));
  const rest = others.filter((name) => !name.startsWith("-"));
  return ["npm install", ...flags, `${FOLDER}/calotype-${files}-*.tgz`, ...rest].join(" ");
}
