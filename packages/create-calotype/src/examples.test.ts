import { globSync } from "node:fs";
import { join, sep } from "node:path";
import { ROOT } from "@calotype/conformance/support/workspace";
import { describe, expect, it } from "vitest";
import type { AppChoices } from "./choices.js";
import { planApp } from "./plan-app.js";

/*
 * The apps in `examples/frameworks` are what the command writes, so that there is one copy to maintain: the templates.
 * `vitest run packages/create-calotype/src/examples.test.ts -u` writes them again; a file that is no longer part of an app
 * must be deleted by hand.
 */

const EXAMPLES: readonly AppChoices["framework"][] = [
  "bun",
  "fastify",
  "hono",
  "lambda",
  "nestjs",
  "workers",
];

describe.each(EXAMPLES)("examples/frameworks/%s", (framework) => {
  const folder = join(ROOT, "examples/frameworks", framework);
  const providers: AppChoices["providers"] = ["seedream", "qwen-image"];
  // `latest`, because a released version would be wrong in the commit that makes the next release.
  const files = planApp(
    { framework, providers, store: "memory", signIn: "none" },
    { name: `${framework}-app`, range: "latest" },
  );

  it.each([...files])("%s is what the command writes", async (path, text) => {
    await expect(text).toMatchFileSnapshot(join(folder, path));
  });

  it("has no other file", () => {
    const found = globSync("**/{*,.*}", {
      cwd: folder,
      withFileTypes: true,
      exclude: ({ name }) =>
        ["node_modules", "dist", ".wrangler", "package-lock.json", ".env"].includes(name),
    });
    const paths = found
      .filter((entry) => entry.isFile())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(folder.length + 1)
          .replaceAll(sep, "/"),
      );

    expect(paths.toSorted()).toEqual([...files.keys()].toSorted());
  });
});
