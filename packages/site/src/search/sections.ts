// What the search knows: each section of each page, and the questions of docs/README.md that lead to it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { slugify } from "../markdown.ts";
import { readTitles } from "../navigation.ts";
import { listPages, ROOT, resolveLink, webPathOf } from "../pages.ts";
import type { Section } from "./search.ts";

const QUESTIONS_PAGE = "docs/README.md";

/** The sections of the pages of a language. */
export function readSections(language: "en" | "zh"): Section[] {
  const titles = readTitles();
  const questions = readQuestions();
  const isWanted = (file: string, address: string): boolean =>
    address.startsWith("zh/") === (language === "zh") && file !== QUESTIONS_PAGE && !isHome(address);
  return [...listPages()]
    .filter(([file, address]) => isWanted(file, address))
    .flatMap(([file, address]) => {
      const text = readFileSync(join(ROOT, file), "utf8");
      return splitPage(text, webPathOf(address), titles.get(address.replace(/\.md$/, "")) ?? "", questions);
    });
}

const isHome = (address: string): boolean => address === "index.md" || address === "zh/index.md";

/** The questions of the table of all pages, by the web path of the page or section that answers them. */
function readQuestions(): ReadonlyMap<string, string[]> {
  const pages = listPages();
  const found = new Map<string, string[]>();
  const rows = readFileSync(join(ROOT, QUESTIONS_PAGE), "utf8").matchAll(/^\| (.+\?.*?) \| (.*\]\(.*) \|$/gm);
  for (const [, question = "", answers = ""] of rows) {
    for (const [, link = ""] of answers.matchAll(/\]\(([^)]+)\)/g)) {
      const target = resolveLink(QUESTIONS_PAGE, link, pages);
      if (target.kind !== "page") continue;
      const path = webPathOf(target.address) + target.anchor;
      found.set(path, [...(found.get(path) ?? []), toPlainText(question)]);
    }
  }
  return found;
}

/** So many characters of a name of the API reference are searched. */
const REFERENCE_TEXT = 160;

/** The sections of a page: the part before the first heading of the second level, and one for each heading from there on. */
function splitPage(
  markdown: string,
  path: string,
  pageTitle: string,
  questions: ReadonlyMap<string, string[]>,
): Section[] {
  const sections: Section[] = [];
  const seen = new Map<string, number>();
  let above: string[] = [];
  let title = pageTitle;
  let anchor = "";
  let lines: string[] = [];
  let isCode = false;
  const finish = (): void => {
    const id = path + anchor;
    const asked = questions.get(id)?.join(" ") ?? "";
    const whole = toPlainText(lines.join("\n"));
    // The tables of the API reference repeat the options of the other pages.
    const text = path.startsWith("reference/") ? whole.slice(0, REFERENCE_TEXT) : whole;
    sections.push({ id, title, page: pageTitle, above: above.join(" › "), text, questions: asked });
    lines = [];
  };
  for (const line of markdown.replace(/^---\n[^]*?\n---\n/, "").split("\n")) {
    if (/^ *```/.test(line)) isCode = !isCode;
    const [, marks = "", heading = ""] = (isCode ? null : /^(#{1,4}) (.+)$/.exec(line)) ?? [];
    if (marks === "") {
      lines.push(line);
      continue;
    }
    const id = slugify(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("`", ""));
    const count = seen.get(id) ?? 0;
    seen.set(id, count + 1);
    if (marks === "#") continue;
    finish();
    // The titles above the new heading: that of the page, and of the headings of higher levels.
    const levels = [pageTitle, ...above.slice(1), ...(anchor === "" ? [] : [title])];
    above = levels.slice(0, marks.length - 1);
    title = toPlainText(heading);
    anchor = `#${id}${count > 0 ? `-${count}` : ""}`;
  }
  finish();
  return sections;
}

/** Markdown as it is read aloud: without links, marks and the frames of tables. Code stays. */
function toPlainText(markdown: string): string {
  return markdown
    .replaceAll(/<!--[^]*?-->|^ *```.*$|^\|[ |:-]+\|$/gm, " ")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/<\/?[a-z][^>]*>|[`*|]|^[>#-]+ /gm, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
}
