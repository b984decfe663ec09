// How the Markdown of the repository becomes Markdown of the site: links, commands, and the ids of headings.
import { posix, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { toCloneCommands } from "./from-clone.ts";
import { splitByPackageManager } from "./package-managers.ts";
import { listPages, type Project, ROOT, readProject, resolveLink } from "./pages.ts";

/** The id of a heading, as GitHub makes it, so that one link works in both places. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

/** What links are resolved with. */
export interface LinkContext {
  /** Every page: its file, and its address. */
  readonly pages: ReadonlyMap<string, string>;
  readonly project: Project;
  /** The branch or tag of files in the repository. */
  readonly revision: string;
}

/**
 * Where a link of a file leads on the site, or `undefined` if it stays as it is. A link to a page becomes the page's address from
 * the root of the version. So does a link to the homepage of the project, as the READMEs of packages have them: it must not lead
 * from the pages of an old version to those of the newest one. A link to another file or folder becomes its place in the
 * repository. A link to a page or file that does not exist stays, or becomes one that VitePress reports as dead.
 */
export function resolveHref(file: string, href: string, context: LinkContext): string | undefined {
  const { pages, project, revision } = context;
  if (href === project.homepage || href.startsWith(`${project.homepage}/`)) {
    const [path = "", anchor = ""] = href.slice(project.homepage.length + 1).split(/(?=#)/);
    const addresses = new Set(pages.values());
    const known = [`${path}.md`, posix.join(path, "index.md")].find((address) => addresses.has(address));
    return `/${known ?? path}${anchor}`;
  }
  if (/^(?:[a-z]+:|\/|#)/i.test(href)) return undefined;
  const target = resolveLink(file, href, pages);
  if (target.kind === "page") return `/${target.address}${target.anchor}`;
  if (target.kind === "source")
    return `${project.repository}/tree/${revision}/${target.path}${target.anchor}`;
  return undefined;
}

/** Rewrites the links of all pages, see {@link resolveHref}. */
export function rewriteLinks(md: MarkdownRenderer, revision: string): void {
  const project = readProject();
  let pages = listPages();
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const file = relative(ROOT, env.realPath ?? env.path).replaceAll("\\", "/");
    // While `npm run docs` runs, pages are added.
    if (!pages.has(file)) pages = listPages();
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type !== "link_open") continue;
      const href = resolveHref(file, String(token.attrGet("href")), { pages, project, revision });
      if (href !== undefined) token.attrSet("href", href);
    }
  });
}

/** A cell without words in the head of a table is not a header: screen readers would announce it. */
export function leaveOutEmptyHeaders(md: MarkdownRenderer): void {
  md.core.ruler.push("empty-headers", ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      const close = tokens[index + 2];
      if (token.type !== "th_open" || tokens[index + 1]?.content !== "" || close === undefined) continue;
      token.tag = "td";
      close.tag = "td";
    }
  });
}

/** What stands below commands that install our packages while npm does not have them, and the title of their tab. */
const NOT_RELEASED = {
  en: { tab: "From a clone", text: "Not released yet: ", link: "install from a clone", page: "install" },
  zh: { tab: "从克隆", text: "尚未发布：", link: "从克隆安装", page: "zh/install" },
} as const;

/** What commands are shown with. */
export interface CommandContext {
  /** The path of this version of the site. */
  readonly base: string;
  /** The version of the packages. */
  readonly version: string;
  /** Whether npm has the packages. */
  readonly isReleased: boolean;
}

/**
 * Shows a block of npm commands that installs packages as a group of tabs: npm, pnpm, yarn and bun. While npm does not have our
 * packages, the first tab has the commands that work in their place. The page that explains this has no such tab.
 */
export function addCommandTabs(md: MarkdownRenderer, { base, version, isReleased }: CommandContext): void {
  md.core.ruler.push("command-tabs", (state) => {
    const path = String(state.env.relativePath);
    const { tab, text, link, page } = NOT_RELEASED[path.startsWith("zh/") ? "zh" : "en"];
    const isExplained = isReleased || path === `${page}.md`;
    state.tokens = state.tokens.flatMap((token) => {
      if (token.type !== "fence" || token.info !== "sh") return [token];
      const clone = isExplained ? "" : toCloneCommands(token.content, version);
      const names = splitByPackageManager(token.content);
      if (clone === "" && names.length === 0) return [token];
      const written =
        names.length > 0 ? names : ([[/^bun /m.test(token.content) ? "bun" : "npm", token.content]] as const);
      const tabs = clone === "" ? written : [[tab, `${clone}\n`] as const, ...written];
      const blocks = tabs.map(([name, content]): Token => {
        const block = new state.Token("fence", "code", 0);
        const { block: isBlock, map, markup } = token;
        return Object.assign(block, { block: isBlock, map, markup, info: `sh [${name}]`, content });
      });
      const open = new state.Token("container_code-group_open", "div", 1);
      const close = new state.Token("container_code-group_close", "div", -1);
      if (clone === "") return [open, ...blocks, close];
      const said = new state.Token("html_block", "", 0);
      said.content = `<p class="not-released">${text}<a href="${base}${page}">${link}</a></p>`;
      return [open, ...blocks, close, said];
    });
  });
}
