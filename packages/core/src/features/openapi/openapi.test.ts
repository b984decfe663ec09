import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { gemini } from "../../families/gemini/gemini.js";
import { openai } from "../../families/openai/openai.js";
import { qwenImage } from "../../families/qwen-image/qwen-image.js";
import { seedream } from "../../families/seedream/seedream.js";
import { listEndpoints } from "../../request/route.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { createOpenApiDocument } from "./create-document.js";
import { createEditSchemas } from "./request-schemas.js";
import { SENT_ERRORS } from "./response-schemas.js";

const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
const document = createOpenApiDocument(version);

function toObject(value: unknown): JsonObject {
  if (isJsonObject(value)) return value;
  throw new TypeError("There is no such schema.");
}

/** All objects in a value. */
function* walk(value: unknown): Iterable<JsonObject> {
  if (isJsonObject(value)) yield value;
  if (typeof value === "object" && value !== null)
    for (const child of Object.values(value)) yield* walk(child);
}

it("is committed as it is generated (after a change: vitest run packages/core/src/features/openapi -u)", async () => {
  const text = `${JSON.stringify(document, null, 1)}\n`;
  await expect(text).toMatchFileSnapshot("openapi.json");
});

it("describes every endpoint at which images are made", () => {
  const paths = listEndpoints([seedream, qwenImage]).map(({ path }) => path);
  expect(paths).toHaveLength(4);
  expect(Object.keys(document["paths"] as object)).toEqual(expect.arrayContaining(paths));
});

/** How the document writes the values that a family reads from the strings of a form. */
const IN_FORMS: Readonly<Record<string, JsonObject>> = {
  number: { type: "string", pattern: expect.stringMatching(/^\^-\?\\d\+/) },
  boolean: { type: "string", enum: ["true", "false"] },
  object: { type: "string", contentMediaType: "application/json" },
  list: { type: "string", contentMediaType: "application/json" },
  image: { contentMediaType: "application/octet-stream" },
};

it.each([
  ["SeedreamEditRequest", seedream],
  ["QwenImageEditRequest", qwenImage],
  ["OpenAIEditRequest", openai],
  ["GeminiEditRequest", gemini],
])("describes the fields of %s in forms as the family reads them", (name, { fields = {} }) => {
  const { EditForm: form, [name]: request } = createEditSchemas();
  const names = Object.keys(toObject(request?.["properties"])).filter(
    (field) => field !== "images" && field !== "input",
  );
  const described = toObject(form?.["properties"]);
  expect(Object.keys(described)).toEqual(expect.arrayContaining(names));
  const others = names.filter((field) => field !== "image");
  const expected = others.map((field) => [field, IN_FORMS[fields[field] ?? ""] ?? { type: "string" }]);
  expect(described).toMatchObject(Object.fromEntries(expected));
  // A string in a form stays a string, unless it is a number, `true` or JSON.
  const strings = others.filter((field) => fields[field] === undefined);
  for (const field of strings) expect(described[field]).not.toHaveProperty("contentMediaType");
  for (const field of strings) expect(described[field]).not.toHaveProperty("pattern");
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
