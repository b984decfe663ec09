import { chance, drawInt, drawSize, pick, type Random } from "./draw.ts";

/** A JSON value before it is written. Objects are lists of pairs, so that a key may appear twice; `raw` is any text. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly pairs: readonly (readonly [string, Json])[] }
  | { readonly raw: string };

/** A plain value as `Json`. */
export function toJson(value: unknown): Json {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return value;
  if (Array.isArray(value)) return value.map(toJson);
  return { pairs: Object.entries(Object(value)).map(([key, field]) => [key, toJson(field)] as const) };
}

/** The JSON text of a value. `space` returns the white space around punctuation. */
export function writeJson(value: Json, space: () => string = () => ""): string {
  if (Array.isArray(value))
    return `[${value.map((item) => space() + writeJson(item, space) + space()).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("raw" in value) return value.raw;
  if (!("pairs" in value)) return "null";
  const pairs = value.pairs.map(([key, field]) => {
    return `${space()}${JSON.stringify(key)}${space()}:${space()}${writeJson(field, space)}${space()}`;
  });
  return `{${pairs.join(",")}}`;
}

/** Makes a few changes to a value: other types, odd numbers and strings, duplicate, missing and unknown keys, depth. */
export function mutateJson(random: Random, value: Json): Json {
  let mutated = value;
  for (let left = 1 + drawSize(random, 1, 5); left > 0; left -= 1) mutated = mutateSomewhere(random, mutated);
  return mutated;
}

function mutateSomewhere(random: Random, value: Json): Json {
  if (Array.isArray(value)) {
    const items: readonly Json[] = value;
    if (items.length === 0 || chance(random, 0.35)) return mutateList(random, items);
    const position = drawInt(random, 0, items.length - 1);
    return items.map((item, index) => (index === position ? mutateSomewhere(random, item) : item));
  }
  if (typeof value === "object" && value !== null && "pairs" in value) {
    if (value.pairs.length === 0 || chance(random, 0.3)) return { pairs: mutatePairs(random, value.pairs) };
    const position = drawInt(random, 0, value.pairs.length - 1);
    return {
      pairs: value.pairs.map(([key, field], index) => [
        key,
        index === position ? mutateSomewhere(random, field) : field,
      ]),
    };
  }
  return drawOddValue(random);
}

function mutateList(random: Random, items: readonly Json[]): Json {
  const position = drawInt(random, 0, items.length);
  const kind = random();
  if (kind < 0.3) return items.toSpliced(position, 1);
  if (kind < 0.5) return items.toSpliced(position, 0, drawOddValue(random));
  if (kind < 0.8) return [...items, ...items.slice(0, 1)];
  if (kind < 0.85) return Array.from({ length: drawSize(random, 20, 300) }, () => items[0] ?? null);
  return drawOddValue(random);
}

type Pairs = readonly (readonly [string, Json])[];

function mutatePairs(random: Random, pairs: Pairs): Pairs {
  const position = drawInt(random, 0, Math.max(0, pairs.length - 1));
  const [key, field] = pairs[position] ?? ["", null];
  const kind = random();
  if (kind < 0.25) return pairs.toSpliced(position, 1);
  if (kind < 0.4) return pairs.toSpliced(position, 0, [key, drawOddValue(random)]);
  if (kind < 0.6) return [...pairs, [drawKey(random), drawOddValue(random)]];
  if (kind < 0.7) return pairs.toSpliced(position, 1, [drawKey(random), field]);
  if (kind < 0.8) return pairs.toSpliced(position, 1, [key, { pairs: [[key, field]] }]);
  if (kind < 0.88) return pairs.toSpliced(position, 1, [key, [field]]);
  if (kind < 0.9)
    return [...pairs, ...manyPairs(drawSize(random, chance(random, 0.05) ? 20_000 : 100, 60_000))];
  return pairs.toReversed();
}

function manyPairs(count: number): Pairs {
  return Array.from({ length: count }, (_, index) => [`key${index}`, index] as const);
}

const KEYS = [
  "model",
  "prompt",
  "n",
  "size",
  "image",
  "images",
  "mask",
  "stream",
  "response_format",
  "output_format",
  "watermark",
  "seed",
  "guidance_scale",
  "sequential_image_generation",
  "sequential_image_generation_options",
  "max_images",
  "optimize_prompt_options",
  "input",
  "parameters",
  "messages",
  "content",
  "role",
  "text",
  "negative_prompt",
  "prompt_extend",
  "user",
  "quality",
  "background",
  "style",
  "moderation",
  "partial_images",
  "layer_decomposition",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  " ",
  "model ",
  "MODEL",
  "\u0000",
  "é",
  "e\u0301",
  "a.b",
  "[0]",
  "$ref",
  "aspect_ratio",
  "resolution",
  "tags",
  "safety_identifier",
  "tools",
  "image_url",
];

function drawKey(random: Random): string {
  return chance(random, 0.95) ? pick(random, KEYS) : "k".repeat(drawSize(random, 200, 20_000));
}

const STRINGS = [
  "",
  " ",
  "\u0000",
  "null",
  "true",
  "auto",
  "disabled",
  "3",
  "-1",
  "1e3",
  "2.5",
  "url",
  "b64_json",
  "1K",
  "2K",
  "4k",
  "1024x1024",
  "2048x2048",
  "1024*1024",
  "1328*1328",
  "0x0",
  "99999x99999",
  "1x1",
  "-1x5",
  "2048X2048",
  "２０４８x2048",
  "https://images.example/a.png",
  "http://127.0.0.1/a",
  "data:image/png;base64,iVBORw0KGgo=",
  "data:,",
  "data:image/png;base64,",
  "ftp://x/y",
  "javascript:alert(1)",
  "\ud800",
  "😀",
  "\u202e",
  "é".normalize("NFD"),
  "/etc/passwd",
  "{{7*7}}",
  "seedream-4-0-250828",
  "SEEDREAM-4-0-250828",
  "doubao-seedream-4-0-250828",
  "image-2.0",
  "image-2.0-PRO",
  "ep-1",
  "image-edit",
  "*",
  "image-*",
];

const NUMBERS = [
  "0",
  "-0",
  "1",
  "2",
  "3",
  "15",
  "16",
  "-1",
  "1.5",
  "1e400",
  "-1e400",
  "1e-400",
  "9007199254740993",
  "1e21",
  "0.1",
  "4294967296",
  "2147483648",
  "1E2",
  "100",
  "1000000000000000000000000",
];

const RAW = [
  "NaN",
  "Infinity",
  "undefined",
  "'a'",
  "01",
  "+1",
  ".5",
  "1.",
  "0x10",
  "tru",
  "\\u0041",
  '"\\x41"',
  '"\u0001"',
  '"\\ud83d"',
  "// c",
  "{}}",
  "]",
];

/** An unusual value. */
function drawOddValue(random: Random): Json {
  const kind = random();
  if (kind < 0.3) return pick(random, STRINGS);
  if (kind < 0.55) return { raw: pick(random, NUMBERS) };
  if (kind < 0.7) return pick(random, [null, true, false]);
  if (kind < 0.75) return { raw: pick(random, RAW) };
  if (kind < 0.85) return pick<Json>(random, [[], { pairs: [] }, [null], ["a", "b"], { pairs: [["a", 1]] }]);
  if (kind < 0.9) return { raw: nest(random, drawInt(random, 2, chance(random, 0.1) ? 2_000 : 40)) };
  if (kind < 0.95) return "x".repeat(drawSize(random, 500, 30_000));
  return Array.from({ length: drawInt(random, 1, 5) }, () => drawOddValue(random));
}

function nest(random: Random, depth: number): string {
  return chance(random, 0.5)
    ? `${"[".repeat(depth)}${"]".repeat(depth)}`
    : `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}

/** The body readers refuse larger and deeper values, so the families never get them. */
const MAX_FIELDS_LENGTH = 8_000;
const MAX_FIELDS_DEPTH = 32;

/** An object with a few changes after which it is still an object. */
export function mutateFields(random: Random, fields: JsonFields): JsonFields {
  const text = writeJson(mutateJson(random, toJson(fields)));
  if (text.length > MAX_FIELDS_LENGTH) return fields;
  try {
    const mutated: unknown = JSON.parse(text);
    return isFields(mutated) && !isDeeper(mutated, MAX_FIELDS_DEPTH) ? mutated : fields;
  } catch {
    // Some changes are not JSON.
    return fields;
  }
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isDeeper(item, depth - 1));
}

type JsonFields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is JsonFields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Smaller values of the same kind: parts left out, then parts made smaller. */
export function* shrinkJson(value: unknown): Iterable<unknown> {
  if (typeof value === "string" && value.length > 1) {
    yield value.slice(0, Math.ceil(value.length / 2));
    yield value.slice(1);
  }
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    for (const index of items.keys()) yield items.toSpliced(index, 1);
    for (const [index, item] of items.entries()) {
      for (const smaller of shrinkJson(item)) yield items.with(index, smaller);
    }
    return;
  }
  const entries = Object.entries(value);
  for (const index of entries.keys()) yield Object.fromEntries(entries.toSpliced(index, 1));
  for (const [name, field] of entries) {
    for (const smaller of shrinkJson(field)) yield { ...value, [name]: smaller };
  }
}
