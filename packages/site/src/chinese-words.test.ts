import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./pages.ts";

/**
 * One Chinese word for each concept, in the studio and in `docs/zh`. The table at the end of `docs/zh/README.md` has the words; here
 * are those that must not take their place.
 */
const WORDS: Readonly<Record<string, { readonly word: string; readonly not: RegExp }>> = {
  provider: { word: "服务商", not: /提供商|供应商|厂商|提供方/ },
  key: { word: "密钥", not: /(?<![\w-])(?:API )?[Kk]eys?(?![\w-])|秘钥|钥匙/ },
  channel: { word: "渠道", not: /(?<!alpha )通道|频道/ },
  charge: { word: "费用、收费", not: /扣费|扣款|计费|收取费用/ },
  caller: { word: "调用方", not: /调用者|呼叫者|主叫/ },
  hold: { word: "预留", not: /冻结|预扣|预授权/ },
  ledger: { word: "账本", not: /台账|总账|分类账/ },
};

/** The strings of the studio's page. Those with values are written with some. */
async function readStudio(): Promise<string> {
  const { zh }: { readonly zh: unknown } = await import(
    join(ROOT, "packages/studio/src/page/messages/zh.ts")
  );
  return collect(zh).join("\n");
}

function collect(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "function") return collect(Reflect.apply(value, undefined, ["2", "3", "4"]));
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(collect) : [];
}

/** The prose of a page, without code, links and names of files. */
function readProse(path: string): string {
  return readFileSync(join(ROOT, path), "utf8")
    .replaceAll(/```[^]*?```/g, "")
    .replaceAll(/`[^`\n]*`/g, "")
    .replaceAll(/\[([^\]]*)\]\([^)]*\)（英文）/g, "")
    .replaceAll(/\]\([^)]*\)/g, "]")
    .replaceAll(/^\| [a-z][a-z /]* \|/gm, "|");
}

const studio = await readStudio();

describe("the Chinese words", () => {
  const texts: [name: string, text: string][] = [
    ["the studio", studio],
    ...globSync("docs/zh/**/*.md", { cwd: ROOT }).map((path): [string, string] => [path, readProse(path)]),
  ];

  it.each(texts)("%s has one word for each concept", (_name, text) => {
    expect(text).toMatch(/[\u4e00-\u9fff]/);
    const found = Object.entries(WORDS).flatMap(([concept, { word, not }]) =>
      text
        .split("\n")
        .filter((line) => not.test(line))
        .map((line) => `${concept} is ${word}: ${line.trim()}`),
    );
    expect(found).toEqual([]);
  });

  it("are in the table of docs/zh/README.md", () => {
    const table = readFileSync(join(ROOT, "docs/zh/README.md"), "utf8");
    for (const [concept, { word }] of Object.entries(WORDS))
      expect(table).toContain(`| ${concept} | ${word} |`);
  });
});
