import { describe, expect, it } from "vitest";
import { compileBlocks } from "./support/compile-blocks.js";
import { type CodeBlock, extractFromComments, extractFromMarkdown } from "./support/extract-code.js";
import { findFiles, readText } from "./support/workspace.js";

const DOCUMENTS = findFiles(
  "README.md",
  "CONTRIBUTING.md",
  "docs/**/*.md",
  "packages/*/README.md",
  "packages/*/SKILL.md",
  "packages/site/pages/**/*.md",
);
const SOURCES = findFiles("packages/*/src/**/*.ts").filter((path) => !path.endsWith(".test.ts"));

const BLOCKS: readonly CodeBlock[] = [
  ...DOCUMENTS.flatMap((path) => extractFromMarkdown(path, readText(path))),
  ...SOURCES.flatMap((path) => extractFromComments(path, readText(path))),
];

/** Wrong code. The compiler must report it, which shows that it runs. */
const BROKEN: readonly CodeBlock[] = [
  { path: "broken.md", line: 7, code: 'const text = "1";\nconst count: number = text;' },
  { path: "outdated.md", line: 3, code: 'import { createGatewy } from "@calotype/core";' },
];

describe("the code blocks of documents and comments", () => {
  const problems = compileBlocks([...BLOCKS, ...BROKEN]);

  it.each(BLOCKS)("compiles at $path:$line", ({ path, line, code }) => {
    const last = line + code.split("\n").length;
    const ofThis = problems.filter((problem) => {
      const [, at] = problem.startsWith(`${path}:`) ? problem.slice(path.length).split(":") : [];
      return Number(at) >= line && Number(at) <= last;
    });

    expect(ofThis).toEqual([]);
  });

  it("cause no other compiler error than the blocks with wrong code", () => {
    const others = problems.filter((problem) => !BLOCKS.some(({ path }) => problem.startsWith(`${path}:`)));
    // The compiler checks the blocks in any order.
    expect(others.toSorted()).toEqual([
      "broken.md:8:7 error TS2322: Type 'string' is not assignable to type 'number'.",
      expect.stringMatching(/^outdated\.md:3:10 error TS2\d+: .*createGatewy/),
    ]);
  });

  it("are fenced in every comment with an @example", () => {
    const bare = SOURCES.filter((path) => /@example(?!\s*\n\s*\* ```ts\n)/.test(readText(path)));

    expect(bare).toEqual([]);
  });

  it("exist in the README and in the entry points of the packages", () => {
    const paths = new Set(BLOCKS.map(({ path }) => path));

    expect([...paths]).toEqual(
      expect.arrayContaining([
        "README.md",
        "packages/core/src/gateway.ts",
        "packages/node/src/to-node-handler.ts",
        "packages/express/src/index.ts",
        "packages/emulator/src/emulator.ts",
      ]),
    );
  });
});

describe("the extraction of code", () => {
  it("finds TypeScript blocks and their first line", () => {
    const text = [
      "Text", //
      "```ts",
      "const a = 1;",
      "",
      "const b = 2;",
      "```",
      "```sh",
      "npm test",
      "```",
      "- item",
      "  ```typescript",
      "  if (a) {",
      "    b();",
      "  }",
      "  ```",
      "```ts fragment",
      "...",
      "```",
      "```tsx title",
      "const c = 3;",
      "```",
    ].join("\n");

    expect(extractFromMarkdown("x.md", text)).toEqual([
      { path: "x.md", line: 3, code: "const a = 1;\n\nconst b = 2;" },
      { path: "x.md", line: 12, code: "if (a) {\n  b();\n}" },
      { path: "x.md", line: 20, code: "const c = 3;", isJsx: true },
    ]);
  });

  it("finds the examples of comments and removes the asterisks", () => {
    const source =
      "/**\n * Adds.\n *\n * @example\n * ```ts\n * add(1);\n *\n *   add(2);\n * ```\n */\nadd();\n";

    expect(extractFromComments("x.ts", source)).toEqual([
      { path: "x.ts", line: 6, code: "add(1);\n\n  add(2);" },
    ]);
  });
});
