import { expect, it } from "vitest";
import { toCloneCommands } from "./from-clone.ts";

it.each([
  [
    "npm install @calotype/core @calotype/express express\n",
    "npm install ../calotype-packages/calotype-{core,express}-*.tgz express",
  ],
  [
    "npm install --save-dev @calotype/emulator\n",
    "npm install --save-dev ../calotype-packages/calotype-emulator-*.tgz",
  ],
  [
    "npm install @calotype/core hono \\\n  @calotype/node\n",
    "npm install ../calotype-packages/calotype-{core,node}-*.tgz hono",
  ],
  ["bun add @calotype/core   # the gateway\n", "npm install ../calotype-packages/calotype-core-*.tgz"],
  [
    "npm create calotype my-app -- --yes\ncd my-app\nnpm install\n",
    "npx ../calotype-packages/create-calotype-0.1.0.tgz my-app --yes --packages ../calotype-packages\ncd my-app\nnpm install",
  ],
  ["npm install hono\nnpx @calotype/emulator\n", ""],
])("%j becomes %j", (block, expected) => {
  expect(toCloneCommands(block, "0.1.0")).toBe(expected);
});
