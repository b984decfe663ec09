import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createGateway } from "@calotype/core";
import { transformSync } from "esbuild";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { extractFromMarkdown } from "./support/extract-code.js";
import { ROOT, readText } from "./support/workspace.js";

/* Runs the tests that docs/testing.md shows, and the faults of docs/test-failures.md. */

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

it("the faults of docs/test-failures.md have the results that it states", async () => {
  const block = extractFromMarkdown("docs/test-failures.md", readText("docs/test-failures.md")).find(
    ({ code }) => code.includes("emulator.faults.add("),
  );
  const file = FILE.replace(".mjs", "-faults.mjs");
  onTestFinished(() => rmSync(file, { force: true }));
  const code = transformSync(block?.code ?? "", { loader: "ts", target: "node22" }).code;
  writeFileSync(file, `${code}\nexport { emulator };`);
  const { emulator } = await import(pathToFileURL(file).href);
  const gateway = createGateway({
    models: { "doubao-seedream-4-5-251128": { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "any-key", timeouts: { firstByteSeconds: 0.5 } }],
    callers: [{ id: "tester", key: "sk-test" }],
    fetch: (input, init) => emulator.fetch(input, init),
    logger: { warn() {}, error() {} },
  });
  const statuses: number[] = [];
  for (let count = 0; count < 4; count++) {
    const response = await gateway.fetch(
      new Request("http://localhost/v1/images/generations", {
        method: "POST",
        headers: { authorization: "Bearer sk-test", "content-type": "application/json" },
        body: JSON.stringify({ model: "doubao-seedream-4-5-251128", prompt: "an oak tree" }),
      }),
    );
    await response.arrayBuffer();
    statuses.push(response.status);
  }

  expect(statuses).toEqual([429, 504, 502, 200]);
});
