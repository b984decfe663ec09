import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { findPaths } from "../request/route.js";
import { isJsonObject, type JsonObject } from "../util/json.js";
import { createOpenApiDocument } from "./create-document.js";
import { SENT_ERRORS } from "./response-schemas.js";

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const document = createOpenApiDocument(version);

/** All objects in a value. */
function* walk(value: unknown): Iterable<JsonObject> {
  if (isJsonObject(value)) yield value;
  if (typeof value === "object" && value !== null)
    for (const child of Object.values(value)) yield* walk(child);
}

it("is committed as it is generated (after a change: vitest run packages/core/src/openapi -u)", async () => {
  const text = `${JSON.stringify(document, null, 1)}\n`;
  await expect(text).toMatchFileSnapshot("openapi.json");
});

it("describes every endpoint at which images are made", () => {
  const all = findPaths({ operations: new Set(["generate", "edit"]) });
  const native = [
    "/api/v3/images/generations",
    "/api/v1/services/aigc/multimodal-generation/generation",
  ] as const;
  const ofNative = native.flatMap((nativePath) => findPaths({ operations: new Set(["native"]), nativePath }));
  expect(Object.keys(document["paths"] as object)).toEqual(expect.arrayContaining([...all, ...ofNative]));
});

it("names every error code", () => {
  const text = JSON.stringify(document["components"]);
  expect(SENT_ERRORS.length).toBeGreaterThan(40);
  for (const [code] of SENT_ERRORS) expect(text).toContain(`\`${code}\``);
});

it("has a sentence for each thing", () => {
  expect(JSON.stringify(document)).not.toMatch(/undefined|\[object|NaN/);
});

it("has no reference that leads nowhere", () => {
  const references = [...walk(document)].flatMap(({ $ref }) => (typeof $ref === "string" ? [$ref] : []));
  expect(references.length).toBeGreaterThan(100);
  const missing = [...new Set(references)].filter((reference) => {
    const path = reference.split("/").slice(1);
    const target = path.reduce<unknown>(
      (value, name) => (isJsonObject(value) ? value[name] : undefined),
      document,
    );
    return target === undefined;
  });
  expect(missing).toEqual([]);
});
