import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { extractFromMarkdown } from "./support/extract-code.js";
import { ROOT, readText } from "./support/workspace.js";

/* Runs the tests that docs/testing.md shows. */

/** In node_modules, so that imports find the packages of this one. */
const FILE = join(ROOT, "packages/conformance/node_modules/.testing-page.mjs");
afterAll(() => rmSync(FILE, { force: true }));

describe("docs/testing.md", async () => {
  const path = "docs/testing.md";
  const block = extractFromMarkdown(path, readText(path)).find(({ code }) =>
    code.startsWith("// gateway.test.ts"),
  );
  if (block === undefined) throw new Error(`${path} shows no gateway.test.ts.`);
  // vitest does not load files of node_modules, so the page's tests register here.
  const code = block.code.replace(
    /^import .* from "vitest";$/m,
    "const { beforeEach, expect, it } = globalThis.testingPage;",
  );
  writeFileSync(FILE, transformSync(code, { loader: "ts", target: "node22" }).code);
  Object.assign(globalThis, { testingPage: { beforeEach, expect, it } });
  await import(pathToFileURL(FILE).href);
});
