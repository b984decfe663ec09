// The pages as Markdown, for programs that read documentation: each page beside its HTML, llms.txt and llms-full.txt.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describePage } from "./describe-page.ts";
import { type LinkContext, resolveHref } from "./markdown.ts";
import { createSidebars, readTitles, type SidebarItem } from "./navigation.ts";
import { listPages, ROOT, readProject } from "./pages.ts";
import type { Build } from "./version.ts";

/** Pages that are listed last, and are left out of llms-full.txt: lists of names, records of decisions, tables of measurements. */
const OPTIONAL =
  /^(?:reference|decisions|errors|packages|examples)\/|^(?:changelog|contributing|hardening|performance|settlement|suites)\.md$/;

/** Writes the files into the folder of a built version. */
export function writeMarkdown(out: string, { base, revision }: Build): void {
  const context: LinkContext = { pages: listPages(), project: readProject(), revision };
  const texts = new Map<string, string>();
  for (const [file, address] of context.pages) {
    const text = rewriteMarkdown(readFileSync(join(ROOT, file), "utf8"), file, base, context);
    texts.set(address, text);
    if (/(?:^|\/)index\.md$/.test(address) && file.includes("/site/pages/")) continue; // a home page, without text
    mkdirSync(dirname(join(out, address)), { recursive: true });
    writeFileSync(join(out, address), text);
  }
  writeFileSync(join(out, "llms.txt"), listForReaders(base, texts));
  const whole = orderOfPages().filter((address) => !OPTIONAL.test(address));
  writeFileSync(join(out, "llms-full.txt"), whole.map((address) => texts.get(address)?.trim()).join("\n\n"));
}

/** Rewrites the links of a file to the Markdown of the site. Code stays as it is. */
function rewriteMarkdown(text: string, file: string, base: string, context: LinkContext): string {
  return text
    .split(/(^ *```[^]*?^ *```$)/m)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\]\(([^)\s]+)\)/g, (link, href: string) => {
            const resolved = resolveHref(file, href, context);
            if (resolved === undefined) return link;
            return `](${resolved.startsWith("/") ? base + resolved.slice(1) : resolved})`;
          }),
    )
    .join("");
}

/** llms.txt: the pages by the groups of the sidebar, each with its description. https://llmstxt.org describes the form. */
function listForReaders(base: string, texts: ReadonlyMap<string, string>): string {
  const titles = readTitles();
  const line = (address: string): string => {
    const title = titles.get(address.replace(/\.md$/, "")) ?? address;
    const description = describePage(texts.get(address) ?? "");
    return `- [${title}](${base}${address})${description === "" ? "" : `: ${description}`}`;
  };
  const groups = (createSidebars()["/"] ?? []).map(({ text, items = [] }) => {
    const lines = addressesOf(items)
      .filter((address) => !OPTIONAL.test(address))
      .map(line);
    return `## ${text}\n\n${lines.join("\n")}`;
  });
  const rest = [...texts.keys()].filter((address) => OPTIONAL.test(address)).toSorted();
  const summary = describePage(texts.get("introduction.md") ?? "");
  return [
    `# calotype\n\n> ${summary}\n\n[All pages in one file](${base}llms-full.txt), without the pages under Optional.`,
    ...groups,
    `## Optional\n\n${rest.map(line).join("\n")}`,
    "",
  ].join("\n\n");
}

/** The addresses of the English pages in the order of the sidebar. */
function orderOfPages(): string[] {
  return addressesOf(createSidebars()["/"] ?? []);
}

function addressesOf(items: readonly SidebarItem[]): string[] {
  return items.flatMap(({ link, items: inner = [] }) => [
    ...(link === undefined ? [] : [`${link.slice(1).replace(/(^|\/)$/, "$1index")}.md`]),
    ...addressesOf(inner),
  ]);
}
