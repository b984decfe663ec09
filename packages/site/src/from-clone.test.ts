import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { toCloneCommands } from "./from-clone.ts";
import { listPages, ROOT } from "./pages.ts";

it.each([
  [
    "npm install @calotype/core @calotype/express express\n",
    "npm install ../calotype-packages/calotype-{core,express,node}-*.tgz express",
  ],
  [
    "npm install --save-dev @calotype/emulator\n",
    "npm install --save-dev ../calotype-packages/calotype-emulator-*.tgz",
  ],
  [
    "npm install @calotype/core hono \\\n  @calotype/node\n",
    "npm install ../calotype-packages/calotype-{core,node}-*.tgz hono",
  ],
  [
    "npm install @calotype/core @calotype/koa @calotype/sqlite @calotype/emulator koa\n",
    "npm install \\\n  ../calotype-packages/calotype-{core,koa,sqlite,emulator,node}-*.tgz koa",
  ],
  ["bun add @calotype/core   # the gateway\n", "npm install ../calotype-packages/calotype-core-*.tgz"],
  [
    "npm create calotype my-app -- --yes\ncd my-app\nnpm install\n",
    [
      "npm run pack -- ../calotype-packages",
      "npx ../calotype-packages/create-calotype-0.1.0.tgz \\",
      "  ../my-app --packages ../calotype-packages --yes",
      "cd ../my-app",
      "npm install",
    ].join("\n"),
  ],
  ["npm install hono\nnpx @calotype/emulator\n", ""],
])("%j becomes %j", (block, expected) => {
  expect(toCloneCommands(block, "0.1.0")).toBe(expected);
});

/** The commands of all pages that install our packages from files, with the names of the packages. */
const INSTALLS = [...listPages().keys()].flatMap((path) => {
  const blocks = [...readFileSync(join(ROOT, path), "utf8").matchAll(/^```sh\n([^]*?)^```$/gm)];
  return blocks.flatMap(([, block = ""]) =>
    [...toCloneCommands(block, "0.1.0").matchAll(/calotype-\{?([a-z\d,-]+)\}?-\*\.tgz/g)].map(
      ([, names = ""]) => ({ path, names: names.split(",") }),
    ),
  );
});

it.each(INSTALLS)("$path names all packages of ours that $names need", ({ names }) => {
  const needed = names.flatMap((name) => {
    const { dependencies = {} }: { dependencies?: Record<string, string> } = JSON.parse(
      readFileSync(join(ROOT, `packages/${name}/package.json`), "utf8"),
    );
    return Object.keys(dependencies).flatMap((other) => /^@calotype\/(.+)$/.exec(other)?.[1] ?? []);
  });

  expect(names).toEqual(expect.arrayContaining(needed));
});

it("the pages install most packages, and express among them", () => {
  expect(INSTALLS.length).toBeGreaterThan(20);
  expect(INSTALLS.map(({ path }) => path)).toEqual(
    expect.arrayContaining(["docs/your-users.md", "docs/adapters/express.md", "docs/adapters/koa.md"]),
  );
});
