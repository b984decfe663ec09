import { describe, expect, it } from "vitest";
import { compileBlocks } from "./support/compile-blocks.js";
import { type CodeBlock, extractFromComments, extractFromMarkdown } from "./support/extract-code.js";
import { findFiles, readText } from "./support/workspace.js";

const DOCUMENTS = findFiles("README.md", "CONTRIBUTING.md", "docs/**/*.md", "packages/*/README.md");
const SOURCES = findFiles("packages/*/src/**/*.ts").filter((path) => !path.endsWith(".test.ts"));

const BLOCKS: readonly CodeBlock[] = [
  ...DOCUMENTS.flatMap((path) => extractFromMarkdown(path, readText(path))),
  ...SOURCES.flatMap((path) => extractFromComments(path, readText(path))),
];

/** What must be found, so that the compiler is known to look. */
const BROKEN: readonly CodeBlock[] = [
  { path: "broken.md", line: 7, code: 'const text = "1";\nconst count: number = text;' },
  { path: "outdated.md", line: 3, code: 'import { createGatewy } from "@calotype/core";' },
];

describe("the code that the documents and comments show", () => {
  const problems = compileBlocks([...BLOCKS, ...BROKEN]);

  it.each(BLOCKS)("compiles at $path:$line", ({ path, line, code }) => {
    const last = line + code.split("\n").length;
    const ofThis = problems.filter((problem) => {
      const [, at] = problem.startsWith(`${path}:`) ? problem.slice(path.length).split(":") : [];
      return Number(at) >= line && Number(at) <= last;
    });

    expect(ofThis).toEqual([]);
  });

  it("is all that the compiler has to complain about, beside the blocks that are broken on purpose", () => {
    expect(problems.filter((problem) => !BLOCKS.some(({ path }) => problem.startsWith(`${path}:`)))).toEqual([
      "broken.md:8:7 error TS2322: Type 'string' is not assignable to type 'number'.",
      expect.stringMatching(/^outdated\.md:3:10 error TS2\d+: .*createGatewy/),
    ]);
  });

  it("is fenced wherever a comment has an example", () => {
    const bare = SOURCES.filter((path) => /@example(?!\s*\n\s*\* ```ts\n)/.test(readText(path)));

    expect(bare).toEqual([]);
  });

  it("is there at the entry of every package that is mounted, and in the documents", () => {
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
  it("takes the blocks of TypeScript, with the line that they begin at", () => {
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
      { path: "x.md", line: 20, code: "const c = 3;" },
    ]);
  });

  it("takes the examples of comments without their asterisks", () => {
    const source =
      "/**\n * Adds.\n *\n * @example\n * ```ts\n * add(1);\n *\n *   add(2);\n * ```\n */\nadd();\n";

    expect(extractFromComments("x.ts", source)).toEqual([
      { path: "x.ts", line: 6, code: "add(1);\n\n  add(2);" },
    ]);
  });
});
