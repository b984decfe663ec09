// How the Markdown of the repository becomes Markdown of the site: links, and the ids of headings.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";
import { listPages, ROOT, resolveLink } from "./pages.ts";

/** The id of a heading, as GitHub makes it, so that one link works in both places. */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
}

type Token = ReturnType<MarkdownRenderer["parse"]>[number];

/**
 * Relative links point at files of the repository. A link to a page gets the page's address. A link to another file or
 * folder gets its place on the web, if package.json names the repository, and loses its link otherwise. A link to a file
 * that does not exist stays as it is, and VitePress reports it as dead.
 */
export function rewriteLinks(md: MarkdownRenderer): void {
  const repository = readRepository();
  let pages = listPages();
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const file = relative(ROOT, env.realPath ?? env.path).replaceAll("\\", "/");
    // While `npm run docs` runs, pages are added.
    if (!pages.has(file)) pages = listPages();
    for (const { children } of tokens) if (children !== null) rewriteChildren(children, file);
  });

  function rewriteChildren(children: Token[], file: string): void {
    const unlinked: boolean[] = [];
    for (const token of children) {
      if (token.type === "link_close" && unlinked.pop() === true) token.type = "text";
      if (token.type !== "link_open") continue;
      const href = String(token.attrGet("href"));
      const isRelative = !/^(?:[a-z]+:|\/|#)/i.test(href);
      const target = isRelative ? resolveLink(file, href, pages) : undefined;
      unlinked.push(target?.kind === "source" && repository === undefined);
      if (target?.kind === "page") token.attrSet("href", `/${target.address}${target.anchor}`);
      if (target?.kind === "source") {
        if (repository === undefined) token.type = "text";
        else token.attrSet("href", `${repository}/tree/main/${target.path}${target.anchor}`);
      }
    }
  }
}

/** The address of the repository on the web, as the package.json at the root states it. */
function readRepository(): string | undefined {
  const { repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return repository?.url?.replace(/^git\+/, "").replace(/\.git$/, "");
}
