import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createGateway } from "@calotype/core";
import type { Family } from "@calotype/core/families";
import { createFamilyChecks } from "@calotype/core/testing";
import { transformSync } from "esbuild";
import { afterAll, describe, expect, it } from "vitest";
import { extractFromMarkdown } from "./support/extract-code.js";
import { ROOT, readText } from "./support/workspace.js";

/* Runs the smallest family that docs/families/adding-a-family.md shows, with the checks that this page names. */

/** In node_modules, so that imports find the packages of this one. */
const FILE = join(ROOT, "packages/conformance/node_modules/.smallest-family.mjs");
afterAll(() => rmSync(FILE, { force: true }));

const PICTURE = "aGVsbG8gd29ybGQ=";

async function importSmallest(): Promise<Family> {
  const path = "docs/families/adding-a-family.md";
  const block = extractFromMarkdown(path, readText(path)).find(({ code }) =>
    code.includes("export const smallest"),
  );
  if (block === undefined) throw new Error(`${path} shows no smallest family.`);
  writeFileSync(FILE, transformSync(block.code, { loader: "ts", target: "node22" }).code);
  const { smallest } = await import(pathToFileURL(FILE).href);
  return smallest;
}

describe("the smallest family of the guide", async () => {
  const family = await importSmallest();

  const checks = createFamilyChecks({
    family,
    model: "brush-1",
    exchanges: [
      {
        name: "one image",
        request: { fields: { prompt: "a fox" } },
        response: { body: { picture: PICTURE } },
        expects: { images: 1 },
      },
      {
        name: "no image",
        request: { fields: { prompt: "a fox" } },
        response: { body: { queue: 3 } },
        expects: { images: 0, status: 502, code: "upstream_no_image" },
      },
    ],
    failures: [
      { status: 400, kind: "content", body: { error: "The prompt is refused." } },
      { status: 401, kind: "credential", body: {} },
      { status: 408, kind: "server", body: {} },
      { status: 429, kind: "rate", body: {} },
      { status: 503, kind: "overload", body: {} },
    ],
  });
  it.each(checks)("$name", async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });

  const send = async (fields: object) => {
    const gateway = createGateway({
      families: [family],
      models: { brush: { family: "smallest" } },
      channels: [{ id: "one", family: "smallest", apiKey: "any" }],
      callers: [{ id: "tester", key: "sk-test" }],
      logger: { warn() {}, error() {} },
      fetch: async () => Response.json({ picture: PICTURE }),
    });
    const response = await gateway.fetch(
      new Request("http://localhost/v1/images/generations", {
        method: "POST",
        headers: { authorization: "Bearer sk-test", "content-type": "application/json" },
        body: JSON.stringify({ model: "brush", prompt: "a fox", ...fields }),
      }),
    );
    const ignored = response.headers.get("x-calotype-ignored");
    return { status: response.status, ignored, body: await response.json() };
  };

  it.each([
    [{ prompt: "" }, "prompt"],
    [{ prompt: 7 }, "prompt"],
    [{ n: 2 }, "n"],
    [{ stream: true }, "stream"],
    [{ stream: "yes" }, "stream"],
    [{ response_format: "url" }, "response_format"],
    [{ response_format: "png" }, "response_format"],
    [{ image: "https://example.com/fox.png" }, "image"],
    [{ mask: "https://example.com/fox.png" }, "mask"],
  ])("refuses %j, because another image than the wanted one would be charged", async (fields, param) => {
    expect(await send(fields)).toMatchObject({ status: 400, body: { error: { param } } });
  });

  it("names the fields that have no effect", async () => {
    expect(await send({ n: 1, stream: false, response_format: "b64_json", style: "vivid", seed: 7 })).toEqual(
      {
        status: 200,
        ignored: "style, seed",
        body: expect.objectContaining({ data: [{ b64_json: PICTURE }] }),
      },
    );
  });
});
