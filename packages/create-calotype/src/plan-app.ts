import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type AppChoices,
  FRAMEWORKS,
  type FrameworkChoice,
  type FrameworkName,
  namesOf,
  PROVIDERS,
  type ProviderName,
  STORES,
  type StoreChoice,
  storesOf,
} from "./choices.js";

/** The folder with the files of the apps, which is beside `src` and `dist`. */
const TEMPLATES = fileURLToPath(new URL("../templates", import.meta.url));

/** npm leaves out files with these names or renames them, so their templates have no dot. */
const DOTFILES = new Set(["gitignore", "dockerignore"]);

/** Files of the frameworks that only apps with sign-in have. */
const SIGN_IN_FILES = /^(site\.ts|app\/layout\.tsx|app\/api\/.*)$/;
/** What only apps with sign-in have in other files: the option `caller` of an adapter, and more that is not a whole line. */
const SIGN_IN_PARTS = [/, \{\s*caller:[^;]*?findUser[^}]*\}/g, /\bauth, findUser, |\.\.\.site, /g];
/** Then whole lines. */
const SIGN_IN_LINES = /^.*(\bfindUser\b|\bsite\b|\bauth\b|The page:|the page shows|faults|\bresults\b).*\n/gm;

/** What {@link planApp} needs to know besides the choices. */
export interface AppNames {
  /** The name of the app in its package.json and README. */
  readonly name: string;
  /** The version range of our packages, such as `^0.1.0`. */
  readonly range: string;
  /**
   * What the app installs in place of that range, by the name of a package: such as
   * `file:../packages/calotype-core-0.1.0.tgz` for `@calotype/core`. Default: nothing, all packages are those of npm.
   */
  readonly packages?: Readonly<Record<string, string>> | undefined;
}

interface Manifest {
  readonly [field: string]: unknown;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
}

/**
 * Returns the files of an app as a map of path to text. The app is made of folders of `templates`: `app`, then that of each
 * provider, the store, the framework, and those of the sign-in. A file of a later folder replaces the one of the same path.
 * `add-to-package.json` is merged into `package.json`, `add-to-env.example` and `add-to-readme.md` are appended, and `gateway.ts`
 * and `emulate-providers.ts` lose the lines of the providers that were not chosen. Without sign-in, all files lose what it needs.
 */
export function planApp(
  { framework, providers, store, signIn }: AppChoices,
  names: AppNames,
): Map<string, string> {
  const { withoutFiles = [], pageFolder = "page" }: FrameworkChoice = FRAMEWORKS[framework];
  const folders = [
    "app",
    ...providers.map((provider) => `providers/${provider}`),
    `stores/${store}`,
    `frameworks/${framework}`,
  ];
  if (signIn !== "none") {
    folders.push(`sign-ins/${signIn}`, `user-databases/${STORES[store].userDatabase}`);
    if (pageFolder === "page") folders.push("bundled-page");
  }
  const files = new Map<string, string>();
  let manifest: Manifest = { name: names.name, version: "0.0.0" };
  let variables = "";
  let readme = "";
  for (const [path, text] of folders.flatMap(readFolder)) {
    if (path === "add-to-package.json") manifest = mergeManifests(manifest, JSON.parse(text));
    else if (path === "add-to-env.example") variables += text;
    else if (path === "README.md" || path === "add-to-readme.md") readme += text;
    else files.set(DOTFILES.has(path) ? `.${path}` : path.replace(/^page\//, `${pageFolder}/`), text);
  }
  readme = readme.replaceAll("`page/", `\`${pageFolder}/`);
  if (signIn === "none") {
    leaveOutSignIn(files);
    readme = readme.replace(/^Open .*create an account.*\n\n/m, "");
  }
  for (const path of withoutFiles) files.delete(path);
  for (const path of ["gateway.ts", "emulate-providers.ts"])
    files.set(path, keepProviders(files.get(path) ?? "", providers));
  files.set(".env.example", variables);
  files.set(
    "README.md",
    nameApp(
      addServers(keepStores(keepFiles(readme, files), framework), STORES[store]),
      names.name,
    ).replaceAll(PROVIDERS.seedream.model, firstModel(providers)),
  );
  files.set("package.json", `${JSON.stringify(setRange(manifest, names), null, 2)}\n`);
  const wrangler = files.get("wrangler.jsonc");
  if (wrangler !== undefined) files.set("wrangler.jsonc", nameApp(wrangler, names.name));
  return new Map([...files].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The files of a folder of `templates`, as `[path, text]`. */
function readFolder(folder: string): [string, string][] {
  const root = join(TEMPLATES, folder);
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const path = relative(root, file).replaceAll(sep, "/");
      return [path, readFileSync(file, "utf8")];
    });
}

/** Fields of `added` replace those of `manifest`; scripts and dependencies are joined by name. */
function mergeManifests(manifest: Manifest, added: Manifest): Manifest {
  const merge = (field: "scripts" | "dependencies" | "devDependencies") => {
    const entries = { ...manifest[field], ...added[field] };
    // npm writes dependencies by name; scripts keep their order.
    if (field === "scripts") return entries;
    return Object.fromEntries(Object.entries(entries).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };
  return {
    ...manifest,
    ...added,
    scripts: merge("scripts"),
    dependencies: merge("dependencies"),
    devDependencies: merge("devDependencies"),
  };
}

/** Our packages have the range of the workspace in the templates. Those below them are named in `overrides`. */
function setRange(manifest: Manifest, { range, packages = {} }: AppNames): Manifest {
  const direct = new Set<string>();
  const set = (dependencies: Readonly<Record<string, string>> = {}) =>
    Object.fromEntries(
      Object.entries(dependencies).map(([name, wanted]) => {
        direct.add(name);
        return [name, wanted === "workspace:^" ? (packages[name] ?? range) : wanted];
      }),
    );
  const dependencies = set(manifest.dependencies);
  const devDependencies = set(manifest.devDependencies);
  const overrides = Object.fromEntries(Object.entries(packages).filter(([name]) => !direct.has(name)));
  return {
    ...manifest,
    dependencies,
    devDependencies,
    ...(Object.keys(overrides).length > 0 ? { overrides } : {}),
  };
}

/** Leaves out the lines that name a provider that was not chosen, and the option `families` if all families are built in. */
function keepProviders(text: string, providers: readonly ProviderName[]): string {
  const others = namesOf(PROVIDERS).filter((name) => !providers.includes(name));
  // Not in quotes: the client profile "openai" is for every provider.
  const patterns = others.map((name) => new RegExp(String.raw`(?<!")\b${PROVIDERS[name].identifier}\b(?!")`));
  return text
    .split("\n")
    .filter((line) => !patterns.some((pattern) => pattern.test(line)))
    .join("\n")
    .replace(/^ *families: \[\n(?: *\/\/.*\n)* *\],\n/m, "");
}

/** Leaves out what only apps with sign-in have. */
function leaveOutSignIn(files: Map<string, string>): void {
  for (const [path, text] of files) {
    if (SIGN_IN_FILES.test(path)) files.delete(path);
    else
      files.set(
        path,
        [...SIGN_IN_PARTS, SIGN_IN_LINES].reduce((kept, pattern) => kept.replaceAll(pattern, ""), text),
      );
  }
}

/** Leaves out the lines of the table of files, and of lists, that name a file that the app does not have. */
function keepFiles(readme: string, files: ReadonlyMap<string, string>): string {
  const text = readme.replaceAll(/^\| `([\w./-]+\.tsx?)`.*\n/gm, (line, path: string) =>
    files.has(path) ? line : "",
  );
  return files.has("Dockerfile") ? text : text.replaceAll(/^\d\. .*Dockerfile.*\n/gm, "");
}

/** Leaves out the lines of lists that name a store that does not work with the framework. */
function keepStores(readme: string, framework: FrameworkName): string {
  const stores: readonly string[] = storesOf(framework);
  const text = readme.replaceAll(/^- .*`@calotype\/(sqlite|postgres)`.*\n/gm, (line, store: string) =>
    stores.includes(store) ? line : "",
  );
  return text.replaceAll(/\n{3,}/g, "\n\n");
}

/** Says before the first commands which servers must run. */
function addServers(readme: string, { servers }: StoreChoice): string {
  if (servers === undefined) return readme;
  return readme.replace(
    "```sh\n",
    `First start ${servers} and write \`.env\`: see [Store](#store). Then:\n\n$&`,
  );
}

function nameApp(text: string, name: string): string {
  return text.replaceAll("my-app", name);
}

function firstModel([first = "seedream"]: readonly ProviderName[]): string {
  return PROVIDERS[first].model;
}
