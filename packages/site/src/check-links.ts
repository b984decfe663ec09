// Checks the links of the built site. VitePress checks that pages exist; this checks files and headings as well.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** A link to a page, a file or a heading that does not exist. */
export interface DeadLink {
  /** The file of the page that has the link. */
  readonly page: string;
  readonly href: string;
}

/** Checks every link and source of the pages in a folder to its own site. `base` is the path of the folder on the web. */
export function checkLinks(
  folder: string,
  base: string,
): { readonly pages: number; readonly links: number; readonly dead: readonly DeadLink[] } {
  const pages = globSync("**/*.html", { cwd: folder, exclude: ["v*.*/**"] }).map((page) =>
    page.replaceAll("\\", "/"),
  );
  const html = new Map(pages.map((page) => [page, readFileSync(join(folder, page), "utf8")]));
  const ids = new Map([...html].map(([page, text]) => [page, readIds(text)]));
  const dead: DeadLink[] = [];
  let links = 0;
  for (const [page, text] of html) {
    for (const href of readLinks(text)) {
      links++;
      const [before = "", anchor] = decodeURI(href).split("#");
      const file = fileOf(before, page, base);
      const known = file === undefined ? undefined : ids.get(file);
      const exists = file !== undefined && (known !== undefined || existsSync(join(folder, file)));
      const hasAnchor = !anchor || known === undefined || known.has(anchor);
      if (!exists || !hasAnchor) dead.push({ page, href });
    }
  }
  return { pages: pages.length, links, dead };
}

/** The file that a link means, or undefined if it leads out of the site. */
function fileOf(path: string, page: string, base: string): string | undefined {
  if (path === "") return page;
  const absolute = path.startsWith("/") ? path : posix.join(base, posix.dirname(page), path);
  if (!absolute.startsWith(base)) return undefined;
  const file = absolute.slice(base.length);
  if (file === "" || file.endsWith("/")) return `${file}index.html`;
  return posix.extname(file) === "" ? `${file}.html` : file;
}

/** The links of a page without those to other hosts. */
function readLinks(html: string): string[] {
  const found = [...html.matchAll(/<[a-z][^>]*?\s(?:href|src)="([^"]+)"/g)].map(([, href = ""]) => href);
  return found
    .map((href) => href.replaceAll("&amp;", "&"))
    .filter((href) => !/^(?:[a-z]+:|\/\/)/i.test(href));
}

function readIds(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map(([, id = ""]) => id));
}
