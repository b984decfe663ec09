import { readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { listGuides } from "./navigation.ts";
import { listPages, ROOT } from "./pages.ts";

/*
 * In a guide, the first use of each of these words is a link to the list of words, on the site and on GitHub. If this fails, make
 * the use that it names a link. Uses in code, in headings and in the text of links to other pages do not count.
 */
const LISTS = {
  "docs/words.md": {
    caller: /\bcallers?\b/i,
    channel: /\bchannels?\b/i,
    family: /\bfamil(?:y|ies)\b/i,
    feature: /\bfeatures?\b/i,
    hold: /\b(?:holds?|held)\b/i,
    settle: /\bsettle[sd]?\b/i,
  },
  "docs/zh/words.md": {
    调用方: /调用方/,
    渠道: /渠道/,
    协议族: /协议族/,
    预留: /预留/,
    结算: /结算/,
  },
} as const;

const guides = listGuides();
const files = [...listPages()].flatMap(([file, address]) =>
  guides.includes(address.replace(/\.md$/, "")) ? [file] : [],
);

describe.each(files)("%s", (file) => {
  const list = file.startsWith("docs/zh/") ? "docs/zh/words.md" : "docs/words.md";
  const link = posix.relative(posix.dirname(file), list);

  it.each(Object.entries(LISTS[list]))("links the first use of %s", (word, pattern) => {
    const prose = readProse(file, link);
    const target = `](${link}#${word})`;
    const first = prose.split(/\n{2,}|\n(?=[|-])/).find((block) => pattern.test(block));
    if (first === undefined) return;

    const at = pattern.exec(first)?.index ?? 0;
    expect(first.slice(at, at + 40 + target.length)).toContain(target);
  });
});

it("the lists have the words, and the guides use most of them", () => {
  for (const [list, words] of Object.entries(LISTS)) {
    const headings = [...readFileSync(join(ROOT, list), "utf8").matchAll(/^### (.+)$/gm)].map(
      ([, title = ""]) => title.toLowerCase(),
    );
    expect(headings).toEqual(expect.arrayContaining(Object.keys(words)));
  }
  const linked = files.filter((file) => /\]\(words\.md#/.test(readFileSync(join(ROOT, file), "utf8")));
  expect(linked.length).toBeGreaterThan(files.length / 2);
});

/** The text of a page without code, headings, comments, and links to other pages than the list of words. */
function readProse(file: string, list: string): string {
  return readFileSync(join(ROOT, file), "utf8")
    .replaceAll(/^ *```[^]*?^ *```$|^#+ .*$|<!--[^]*?-->/gm, "")
    .replaceAll(/\[((?:[^[\]]|\n)*)\]\(([^)\s]+)\)/g, (link, _text, href: string) =>
      href.startsWith(`${list}#`) ? link : "",
    )
    .replaceAll(/`[^`]*`/g, "");
}
