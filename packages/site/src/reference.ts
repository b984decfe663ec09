// The API reference: one page for each entry point of each published package, from the declarations of its build.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { Application, type TypeDocOptions } from "typedoc";
import type { PluginOptions } from "typedoc-plugin-markdown";
import { slugify } from "./markdown.ts";
import { REFERENCE, ROOT } from "./pages.ts";

/** An entry point of a published package. */
export interface EntryPoint {
  /** `@calotype/core/billing`. */
  readonly name: string;
  /** The path of its declarations from the root. */
  readonly types: string;
  /** The name of its page in the reference, without `.md`: `core/billing`. */
  readonly page: string;
}

/** What only our own packages use of one another. */
const INTERNAL = "./internal";

/** The entry points of the published packages that are for users, in the order of their package.json files. */
export function listEntryPoints(): EntryPoint[] {
  return globSync("packages/*/package.json", { cwd: ROOT })
    .toSorted()
    .flatMap((path) => {
      const { name, private: isPrivate, exports } = JSON.parse(readFileSync(join(ROOT, path), "utf8"));
      if (isPrivate === true) return [];
      return Object.entries<{ types?: string }>(exports)
        .filter(([subpath, { types }]) => types !== undefined && subpath !== INTERNAL)
        .map(([subpath, { types = "" }]) => ({
          name: `${name}${subpath.slice(1)}`,
          types: join(dirname(path), types).replaceAll("\\", "/"),
          page: `${name.replace("@calotype/", "")}${subpath === "." ? "/index" : subpath.slice(1)}`,
        }));
    });
}

/**
 * Writes the pages. The packages must be built.
 *
 * @throws Error if TypeDoc reports an error or a warning, such as a link in a comment to a name that does not exist
 */
export async function writeReference(): Promise<void> {
  const entryPoints = listEntryPoints();
  const out = join(ROOT, REFERENCE);
  rmSync(out, { recursive: true, force: true });
  const options: TypeDocOptions & Partial<PluginOptions> = {
    entryPoints: entryPoints.map(({ types }) => join(ROOT, types)),
    tsconfig: join(import.meta.dirname, "../reference.tsconfig.json"),
    plugin: ["typedoc-plugin-markdown"],
    out,
    router: "module",
    readme: "none",
    logLevel: "Warn",
    treatWarningsAsErrors: true,
    excludeExternals: true,
    excludeInternal: true,
    // What a reader calls comes first.
    groupOrder: ["Functions", "Classes", "Interfaces", "Type Aliases", "Variables", "References"],
    disableSources: true,
    hidePageHeader: true,
    hideBreadcrumbs: true,
    parametersFormat: "table",
    interfacePropertiesFormat: "table",
    classPropertiesFormat: "table",
    typeDeclarationFormat: "table",
    enumMembersFormat: "table",
    tableColumnSettings: {
      hideSources: true,
      hideInherited: true,
      hideModifiers: true,
      hideOverrides: true,
      hideDefaults: true,
    },
  };
  const app = await Application.bootstrapWithPlugins(options);
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc could not read the declarations.");
  const byModule = new Map(entryPoints.map((entry) => [moduleNameOf(entry), entry]));
  for (const module of project.children ?? []) {
    const entry = byModule.get(module.name);
    if (entry === undefined)
      throw new Error(`TypeDoc found a module that no package exports: ${module.name}`);
    module.name = entry.page;
  }
  app.validate(project);
  await app.generateOutputs(project);
  if (app.logger.hasErrors() || app.logger.hasWarnings())
    throw new Error("TypeDoc reported the problems above.");
  for (const entry of entryPoints) writeTitle(join(out, `${entry.page}.md`), entry);
  writeIndex(out, entryPoints);
}

/** TypeDoc names a module after its file: `core/dist/billing`. */
function moduleNameOf({ types }: EntryPoint): string {
  return types.replace(/^packages\//, "").replace(/(?:\/index)?\.d\.ts$/, "");
}

function writeTitle(path: string, { name }: EntryPoint): void {
  const title = `# ${name}\n\n${describe(name)} ${linkToPackage(path, name)}`;
  const text = correctAnchors(readFileSync(path, "utf8")).replace(/^# .*$/m, () => title);
  writeFileSync(path, `---\noutline: [2, 3]\n---\n\n${text}`);
}

/**
 * TypeDoc's plugin counts `Gateway.status` and `GatewayStatus` as one name, as it does `JsonFile` and `jsonFile()`, and links to a
 * heading of a number that does not exist. Such a link gets the anchor of the heading with its name. The build reports what is
 * still wrong.
 */
function correctAnchors(text: string): string {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return text.replaceAll(/\[(`?)(\w+)\1\]\(#([\w-]+)-(\d+)\)/g, (link, quote, name, anchor, number) => {
    const same = headings.filter((heading) => slugify(heading) === anchor);
    if (same.length > Number(number)) return link;
    const place = same.findIndex((heading) => heading.replace("()", "") === name);
    const suffix = place > 0 ? `-${place}` : "";
    return same.length === 0 ? link : `[${quote}${name}${quote}](#${anchor}${suffix})`;
  });
}

/** A sentence that leads from the names of a package to the text that explains them. */
function linkToPackage(path: string, name: string): string {
  const folder = name.replace("@calotype/", "").split("/")[0] ?? "";
  const readme = relative(dirname(path), join(ROOT, "packages", folder, "README.md")).replaceAll("\\", "/");
  return `[The package](${readme}) says how to use it, and [configuration](${relative(dirname(path), join(ROOT, "docs/configuration.md"))}) lists the options of a gateway.`;
}

function writeIndex(out: string, entryPoints: readonly EntryPoint[]): void {
  const rows = entryPoints.map(({ name, page }) => `| [\`${name}\`](${page}.md) | ${describe(name)} |`);
  mkdirSync(out, { recursive: true });
  // In place of TypeDoc's own list.
  writeFileSync(join(out, "README.md"), [INTRODUCTION, ...rows, ""].join("\n"));
}

const INTRODUCTION = `# API reference

Every name that the packages export. These pages are written from the comments of the code when the site is built.
[Configuration](../../../../docs/configuration.md) lists the options of \`createGateway\` with their defaults.

| Entry point | Contents |
| --- | --- |`;

const CONTENTS: Readonly<Record<string, string>> = {
  "@calotype/core": "`createGateway`, its options, `GatewayError`, records and events.",
  "@calotype/core/adapter": "What an adapter of a web framework needs.",
  "@calotype/core/billing": "Prices and charges, without a gateway.",
  "@calotype/core/compose": "`composeGateway`: a gateway of the kernel and what you name.",
  "@calotype/core/families": "The providers' wire formats, and what a family of your own needs.",
  "@calotype/core/families/bfl": "The family of FLUX, on the API of Black Forest Labs.",
  "@calotype/core/families/fal": "The family of fal, and how its endpoints take what clients send.",
  "@calotype/core/families/gemini": "The family of Gemini.",
  "@calotype/core/families/openai": "The family of OpenAI and of services with its API.",
  "@calotype/core/families/replicate": "The family of Replicate, and how its models take what clients send.",
  "@calotype/core/openapi": "The OpenAPI document.",
  "@calotype/core/operator":
    "What a server that runs a gateway reads and changes: status, probes, pauses, callers, budgets, limits, webhooks.",
  "@calotype/core/reference": "The page that shows the OpenAPI document.",
  "@calotype/core/sse": "The relay of server-sent events, without a gateway.",
  "@calotype/core/stores": "What a ledger, an admission store or a store of results of your own needs.",
  "@calotype/core/testing": "Helpers for tests of families and stores.",
};

/** What an entry point is for: from the table above, or the description of its package. */
function describe(name: string): string {
  const [, folder = ""] = /^@calotype\/([^/]+)$/.exec(name) ?? [];
  const known = CONTENTS[name];
  if (known !== undefined || folder === "") return known ?? "";
  return JSON.parse(readFileSync(join(ROOT, "packages", folder, "package.json"), "utf8")).description;
}
