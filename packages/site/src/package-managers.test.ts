import { expect, it } from "vitest";
import { splitByPackageManager } from "./package-managers.ts";

it("translates commands that install packages", () => {
  const block = [
    "npm create calotype my-app -- --yes",
    "cd my-app",
    "npm install",
    "npm install hono",
    "npm install --save-dev wrangler @types/node",
    "npm run dev",
    "",
  ].join("\n");

  expect(splitByPackageManager(block)).toEqual([
    ["npm", block],
    [
      "pnpm",
      "pnpm create calotype my-app --yes\ncd my-app\npnpm install\npnpm add hono\npnpm add --save-dev wrangler @types/node\npnpm run dev\n",
    ],
    [
      "yarn",
      "yarn create calotype my-app --yes\ncd my-app\nyarn\nyarn add hono\nyarn add --dev wrangler @types/node\nyarn dev\n",
    ],
    [
      "bun",
      "bun create calotype my-app --yes\ncd my-app\nbun install\nbun add hono\nbun add --dev wrangler @types/node\nbun run dev\n",
    ],
  ]);
});

it.each([
  "npm run demo\n",
  "npm install\nnpm test\n",
  "npm install hono\nnpx tsc\n",
  "npm install ./calotype-core.tgz\n",
])("leaves %j as it is", (block) => {
  expect(splitByPackageManager(block)).toEqual([]);
});
