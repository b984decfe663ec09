import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./pages.ts";

/*
 * The Chinese pages have the content of English ones. The last line of each names the text that it was written for. If the
 * English page has changed, change the Chinese one in the same place, and then the line as the failure shows it.
 */

const ENGLISH: Readonly<Record<string, string>> = {
  "docs/zh/README.md": "README.md",
  "docs/zh/install.md": "docs/install.md",
  "docs/zh/quick-start.md": "docs/quick-start/README.md",
  "docs/zh/your-users.md": "docs/your-users.md",
  "docs/zh/keys-and-limits.md": "docs/keys-and-limits.md",
  "docs/zh/customer-keys.md": "docs/customer-keys.md",
  "docs/zh/budgets.md": "docs/budgets.md",
  "docs/zh/pricing.md": "docs/pricing.md",
  "docs/zh/changing-prices.md": "docs/changing-prices.md",
  "docs/zh/spending.md": "docs/spending.md",
  "docs/zh/results.md": "docs/results.md",
  "docs/zh/images-as-they-arrive.md": "docs/images-as-they-arrive.md",
  "docs/zh/images-in-the-background.md": "docs/images-in-the-background.md",
  "docs/zh/webhook-receiver.md": "docs/webhook-receiver.md",
  "docs/zh/prepaid.md": "docs/prepaid.md",
  "docs/zh/fallback.md": "docs/fallback.md",
  "docs/zh/ledger.md": "docs/ledger.md",
  "docs/zh/move-to-postgresql.md": "docs/move-to-postgresql.md",
  "docs/zh/words.md": "docs/words.md",
  "docs/zh/families/README.md": "docs/families/README.md",
  "docs/zh/families/seedream.md": "docs/families/seedream.md",
  "docs/zh/families/qwen-image.md": "docs/families/qwen-image.md",
  "docs/zh/families/openai.md": "docs/families/openai.md",
  "docs/zh/families/gemini.md": "docs/families/gemini.md",
};

/** What tests write, which no one translates. */
const WRITTEN = /(<!-- Written by the tests[^]*?-->\n+)([^]*?)(\n*<!-- End of what the tests write -->)/;

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8").replaceAll("\r\n", "\n");

describe.each(Object.entries(ENGLISH))("%s", (chinese, english) => {
  const source = read(english).replace(WRITTEN, "$1$3");
  const page = read(chinese).replace(WRITTEN, "$1$3");

  it("was written for the present English page", () => {
    const hash = createHash("sha256").update(source).digest("hex").slice(0, 12);

    expect(page.trimEnd().split("\n").at(-1)).toBe(`<!-- ${english} ${hash} -->`);
  });

  it("has the headings, tables, lists and code of the English page", () => {
    const expected = outline(source);

    expect(expected.length).toBeGreaterThan(20);
    // A page may have more at its end, such as the terms in both languages.
    expect(outline(page).slice(0, expected.length)).toEqual(expected);
  });
});

it("docs/zh/families/README.md has the table of what a client gets", async () => {
  const [, , table = ""] = WRITTEN.exec(read("docs/families/README.md")) ?? [];
  const path = "docs/zh/families/README.md";
  const page = read(path).replace(
    WRITTEN,
    (_, before: string, __, after: string) =>
      `${before.trimEnd()}\n\n${translateTable(table)}\n\n${after.trim()}`,
  );

  await expect(page).toMatchFileSnapshot(join(ROOT, path));
});

/** The structure of a page: a line for each heading, row of a table, item of a list and line of code. */
function outline(markdown: string): string[] {
  const lines = markdown.split("\n");
  let isCode = false;
  return lines.flatMap((line): string[] => {
    if (/^ *```/.test(line)) isCode = !isCode;
    if (isCode) return [withoutWords(line)];
    const [kind] = /^(?:#+ |\||- |\d+\. |```)/.exec(line) ?? [];
    return kind === undefined ? [] : [kind];
  });
}

/** A line of code without its comment and its prompts. */
function withoutWords(line: string): string {
  return line
    .replace(/(?:^|\s+)(?:\/\/|#) .*$/, "")
    .replaceAll(/("?\b(?:prompt|text|negative_prompt)"?(?:: ?|=))(?:"[^"]*"|[^"']+(?='))/g, "$1…");
}

const CELLS: Readonly<Record<string, string>> = {
  "one image": "一张图",
  edit: "编辑",
  "several images": "多张图",
  mask: "蒙版",
  "stream, `native`": "流，`native`",
  "stream, `openai`": "流，`openai`",
  "priced by": "计价",
  link: "链接",
  "one call": "一次调用",
  "2 calls": "2 次调用",
  form: "表单",
  "JSON, with `edits: true`": "JSON，需要 `edits: true`",
  relayed: "转发",
  translated: "转换",
  "made by the gateway": "由网关生成",
  "the provider's": "服务商的",
  "the provider's, or stored": "服务商的，或存储的",
  downloaded: "由网关下载",
  "through a results store": "通过结果存储",
  image: "张",
  "image, token": "张、token",
  "image; a cost is recorded": "张；记录服务商报告的费用",
  "image, token; a cost is recorded": "张、token；记录服务商报告的费用",
};

const translate = (cell: string): string => CELLS[cell.trim()] ?? cell.trim();

/** The English table with Chinese words. Links to pages without a Chinese one lead to the English page. */
function translateTable(table: string): string {
  return table
    .trim()
    .split("\n")
    .map((row) => `| ${row.slice(1, -1).split("|").map(translate).join(" | ")} |`.replaceAll("|  |", "| |"))
    .join("\n")
    .replaceAll("](openai/", "](../../families/openai/")
    .replaceAll(/\]\((bfl|fal|replicate)\.md\)/g, "](../../families/$1.md)")
    .replaceAll("#wan-27)", "#万相-27)");
}
