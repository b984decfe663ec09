// Which Markdown files of the repository are pages of the site, and where.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** The root of the workspace. */
export const ROOT = join(import.meta.dirname, "../../..");

/** Where the project is on the web, as the package.json at the root states it. */
export interface Project {
  /** The address of the site, without a slash at the end. */
  readonly homepage: string;
  /** The address of the repository, to which `/tree/main/…` is added. */
  readonly repository: string;
}

/** Reads the addresses of the project. */
export function readProject(): Project {
  const { homepage, repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return { homepage, repository: repository.url.replace(/^git\+/, "").replace(/\.git$/, "") };
}

/** The folder of the generated API reference, from the root. It is not in the repository. */
export const REFERENCE = "packages/site/generated/reference";

/** The files that are pages, as patterns from the root. */
const PAGE_PATTERNS = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "docs/**/*.md",
  "packages/*/README.md",
  "examples/**/README.md",
  "packages/site/pages/**/*.md",
  `${REFERENCE}/**/*.md`,
];

/**
 * Files whose address is not their name: those at the root, and pages beside a folder of the same name, because hosts do not agree
 * on which of the two `/errors` is.
 */
const OTHER_ADDRESSES: Readonly<Record<string, string>> = {
  "README.md": "introduction.md",
  "CONTRIBUTING.md": "contributing.md",
  "CHANGELOG.md": "changelog.md",
  "docs/README.md": "questions.md",
  "docs/errors.md": "errors/index.md",
  "docs/errors/README.md": "errors/codes.md",
  "docs/examples.md": "examples/index.md",
  "docs/zh/README.md": "zh/introduction.md",
};

/**
 * The address of a page, as a path with `.md` from the root of the site: `docs/families/README.md` is
 * `families/index.md`. A file that is no page keeps its path.
 */
export function addressOf(file: string): string {
  const fixed = OTHER_ADDRESSES[file];
  if (fixed !== undefined) return fixed;
  const [, readmeOf] = /^(packages\/[^/]+|examples\/.+)\/README\.md$/.exec(file) ?? [];
  if (readmeOf !== undefined) return `${readmeOf}.md`;
  const [, page] = /^(?:docs|packages\/site\/pages|packages\/site\/generated)\/(.+)$/.exec(file) ?? [];
  return (page ?? file).replace(/(^|\/)README\.md$/, "$1index.md");
}

/** Every page: its file from the root of the repository, and its address. */
export function listPages(): ReadonlyMap<string, string> {
  const files = globSync(PAGE_PATTERNS, { cwd: ROOT, exclude: ["**/node_modules/**"] });
  return new Map(files.map((file) => file.replaceAll("\\", "/")).map((file) => [file, addressOf(file)]));
}

/** The Markdown files of the repository that are no pages. */
export function listOtherMarkdown(): string[] {
  const pages = listPages();
  const files = globSync("**/*.md", { cwd: ROOT, exclude: ["**/node_modules", "**/dist", ".git"] });
  return files.map((file) => file.replaceAll("\\", "/")).filter((file) => !pages.has(file));
}

/** The path of a page on the web without a slash at the beginning: `quick-start/express`, or `quick-start/`. */
export function webPathOf(address: string): string {
  return address.replace(/\.md$/, "").replace(/(^|\/)index$/, "$1");
}

/** What a link of a Markdown file points at. */
export type Target =
  | { readonly kind: "page"; readonly address: string; readonly anchor: string }
  /** A file or folder of the repository that is no page. */
  | { readonly kind: "source"; readonly path: string; readonly anchor: string }
  | { readonly kind: "missing"; readonly path: string };

/** Resolves a relative link of a file of the repository. */
export function resolveLink(file: string, link: string, pages: ReadonlyMap<string, string>): Target {
  const [before = "", anchor = ""] = link.split(/(?=#)/);
  const path = before === "" ? file : posix.join(posix.dirname(file), decodeURI(before)).replace(/\/$/, "");
  const address = pages.get(path) ?? pages.get(posix.join(path, "README.md"));
  if (address !== undefined) return { kind: "page", address, anchor };
  return existsSync(join(ROOT, path)) ? { kind: "source", path, anchor } : { kind: "missing", path };
}
