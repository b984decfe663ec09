/** What a reference reader makes of a JSON body. */
export type ExpectedJson =
  /** The body must be refused. */
  | { readonly kind: "refused" }
  /** The body is near a limit of the normalizer; both results are right. */
  | { readonly kind: "large" }
  | { readonly kind: "fields"; readonly fields: Readonly<Record<string, unknown>> };

const MAX_DEPTH = 32;
/** The normalizer's limits on values and top-level fields are above these. */
const FEW_VALUES = 2_000;
const FEW_FIELDS = 200;

const REFUSED: ExpectedJson = { kind: "refused" };

/** Reads a body with `JSON.parse` and a check for duplicate keys of its own. */
export function readJson(bytes: Uint8Array): ExpectedJson {
  let value: unknown;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    return REFUSED;
  }
  if (!isObject(value)) return REFUSED;
  const { keys, depth, values } = scan(text);
  if (new Set(keys).size < keys.length || depth > MAX_DEPTH) return REFUSED;
  return values > FEW_VALUES || keys.length > FEW_FIELDS
    ? { kind: "large" }
    : { kind: "fields", fields: value };
}

/** The top-level keys, the depth and a bound on the number of values of a text that is JSON. */
function scan(text: string): {
  readonly keys: readonly string[];
  readonly depth: number;
  readonly values: number;
} {
  const keys: string[] = [];
  let depth = 0;
  let deepest = 0;
  let values = 0;
  let last = "";
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]/gs)) {
    values += 1;
    if (token === "{" || token === "[") depth += 1;
    if (token === "}" || token === "]") depth -= 1;
    if (token === ":" && depth === 1) keys.push(String(JSON.parse(last)));
    deepest = Math.max(deepest, depth);
    last = token;
  }
  return { keys, depth: deepest, values };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
