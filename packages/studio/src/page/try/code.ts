import type { EstimateQuery } from "../../wire.js";

export const CODE_KINDS = ["curl", "TypeScript", "Python"] as const;
export type CodeKind = (typeof CODE_KINDS)[number];

/** Writes the request as code to copy. The key is a variable of the environment, and images are files. */
export function writeCode(kind: CodeKind, { operation, fields }: EstimateQuery, baseUrl: string): string {
  const { images, ...others } = fields;
  const files = Array.isArray(images) ? images.map((_, index) => `reference-${index + 1}.png`) : [];
  const request = { fields: others, files, isEdit: operation === "edit", baseUrl };
  switch (kind) {
    case "curl":
      return writeCurl(request);
    case "TypeScript":
      return writeTypeScript(request);
    case "Python":
      return writePython(request);
  }
}

interface CodeRequest {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly files: readonly string[];
  readonly isEdit: boolean;
  readonly baseUrl: string;
}

function writeCurl({ fields, files, isEdit, baseUrl }: CodeRequest): string {
  const head = `curl ${quoteShell(`${baseUrl}/images/${isEdit ? "edits" : "generations"}`)}`;
  const key = `  -H "Authorization: Bearer $CALOTYPE_API_KEY"`;
  if (!isEdit) {
    const json = "  -H 'Content-Type: application/json'";
    return [head, key, json, `  -d ${quoteShell(JSON.stringify(fields, null, 2))}`].join(" \\\n");
  }
  const strings = Object.entries(fields).map(
    ([name, value]) =>
      // `-F` would read a file for a value that begins with @ or <.
      `  --form-string ${quoteShell(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)}`,
  );
  return [head, key, ...strings, ...files.map((file) => `  -F 'image[]=@${file}'`)].join(" \\\n");
}

/** Single quotes keep everything in a POSIX shell but a single quote itself. */
function quoteShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Fields that OpenAI's clients know. Others need a cast in TypeScript, and `extra_body` in Python. */
const KNOWN: ReadonlySet<string> = new Set([
  "model",
  "prompt",
  "size",
  "n",
  "output_format",
  "background",
  "quality",
]);
/** Those of them whose types allow OpenAI's values only. */
const NARROW: ReadonlySet<string> = new Set(["size", "output_format", "background", "quality"]);

function writeTypeScript({ fields, files, isEdit, baseUrl }: CodeRequest): string {
  const entries = Object.entries(fields);
  const typed = entries.filter(([name]) => KNOWN.has(name) && !NARROW.has(name));
  const others = entries.filter(([name]) => !KNOWN.has(name) || NARROW.has(name));
  const lines = [
    ...typed.map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`),
    ...(others.length > 0
      ? [
          "  ...({",
          ...others.map(([name, value]) => `    ${toName(name)}: ${JSON.stringify(value)},`),
          "  } as object), // not in the types of OpenAI",
        ]
      : []),
  ];
  const images = files.map((file) => `fs.createReadStream(${JSON.stringify(file)})`);
  const made = `image-\${index + 1}.${extensionOf(fields)}`;
  return [
    'import fs from "node:fs";',
    'import OpenAI from "openai";',
    "",
    "const client = new OpenAI({",
    `  baseURL: ${JSON.stringify(baseUrl)},`,
    "  apiKey: process.env.CALOTYPE_API_KEY,",
    "});",
    `const { data } = await client.images.${isEdit ? "edit" : "generate"}({`,
    ...lines,
    ...(isEdit ? [`  image: [${images.join(", ")}],`] : []),
    "});",
    "for (const [index, { url, b64_json }] of (data ?? []).entries()) {",
    `  if (b64_json) fs.writeFileSync(\`${made}\`, b64_json, "base64");`,
    `  console.log(url || \`${made}\`);`,
    "}",
  ].join("\n");
}

/** The models that respond with the bytes of an image make PNG, unless another format was asked for. */
function extensionOf({ output_format }: CodeRequest["fields"]): string {
  return typeof output_format === "string" && /^\w{1,8}$/.test(output_format) ? output_format : "png";
}

function toName(name: string): string {
  return /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
}

function writePython({ fields, files, isEdit, baseUrl }: CodeRequest): string {
  const entries = Object.entries(fields);
  const known = entries.filter(([name]) => KNOWN.has(name));
  const others = entries.filter(([name]) => !KNOWN.has(name));
  const opened = files.map((file) => `open(${toPython(file)}, "rb")`);
  const made = `f"image-{index}.${extensionOf(fields)}"`;
  return [
    "import base64",
    "import os",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${toPython(baseUrl)}, api_key=os.environ["CALOTYPE_API_KEY"])`,
    `result = client.images.${isEdit ? "edit" : "generate"}(`,
    ...known.map(([name, value]) => `    ${name}=${toPython(value)},`),
    ...(isEdit ? [`    image=[${opened.join(", ")}],`] : []),
    ...(others.length > 0 ? [`    extra_body=${toPython(Object.fromEntries(others))},`] : []),
    ")",
    "for index, image in enumerate(result.data, 1):",
    "    if image.b64_json:",
    `        open(${made}, "wb").write(base64.b64decode(image.b64_json))`,
    `    print(image.url or ${made})`,
  ].join("\n");
}

/** A JSON value as a literal of Python. */
function toPython(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(toPython).join(", ")}]`;
  if (typeof value === "object") {
    const entries = Object.entries(value).map(([name, each]) => `${toPython(name)}: ${toPython(each)}`);
    return `{${entries.join(", ")}}`;
  }
  // A JSON string is one of Python too, except for characters outside the Basic Multilingual Plane, which are written as they are.
  return JSON.stringify(value);
}
