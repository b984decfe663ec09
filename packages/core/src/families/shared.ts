import { invalidRequest } from "../errors.js";
import { isUploadedImage, type ReferenceImage } from "../images/reference-image.js";
import type { FailureScope, MadeImage, UpstreamFailureKind, Usage } from "../types.js";
import { formatDecimal, readDecimal, roundDecimal } from "../util/decimal.js";
import { isJsonObject, type JsonObject, toPlainNumber } from "../util/json.js";
import { MAX_EVENT_DATA } from "../util/response-bounds.js";
import type { ModelRow } from "./capabilities.js";
import type { UpstreamFailure } from "./failure.js";

/** Fields that OpenAI's clients send. No provider here knows them, unless a model's row says so. */
const OPENAI_ONLY: ReadonlySet<string> = new Set([
  "quality",
  "style",
  "user",
  "background",
  "moderation",
  "input_fidelity",
  "output_compression",
  "partial_images",
  "complexity",
  "frame_count",
  "frame_duration_ms",
  "safety_identifier",
  "svg",
]);

/** The images of an edit besides the reference images, and what a client can do if the model takes none. */
export const ADVICE = {
  mask: "describe the area to change in the prompt instead",
  markup: "describe the change in the prompt instead",
} as const;

/** Fields of OpenAI's edits that no provider supports. Without them, the wrong part of the image would be edited. */
const REFUSED: Readonly<Record<string, string>> = {
  ...ADVICE,
  file_id: "send image, a link or a data URL",
};

/** The field that a part of a form belongs to: `svg` for `svg[model]`. */
function fieldOf(name: string): string {
  const end = name.indexOf("[");
  return end === -1 ? name : name.slice(0, end);
}

/**
 * Separates the fields that only OpenAI knows from those to interpret or forward.
 *
 * @param knownToModel fields of OpenAI that this model also knows
 * @throws GatewayError for `mask`, `markup` and `file_id`, which no provider supports: without them, another image than
 *   the one that the client wants would be made
 */
export function splitOpenAiOnly(
  fields: JsonObject,
  knownToModel: readonly string[] = [],
): { known: JsonObject; ignored: string[] } {
  const isIgnored = (name: string): boolean => OPENAI_ONLY.has(fieldOf(name)) && !knownToModel.includes(name);
  const ignored: string[] = [];
  for (const name of Object.keys(fields)) {
    const field = fieldOf(name);
    const advice = Object.hasOwn(REFUSED, field) ? REFUSED[field] : undefined;
    if (advice !== undefined) throw invalidRequest(`${field} is not supported: ${advice}.`, field);
    if (isIgnored(name) && !ignored.includes(field)) ignored.push(field);
  }
  if (ignored.length === 0) return { known: fields, ignored };
  return {
    known: Object.fromEntries(Object.entries(fields).filter(([name]) => !isIgnored(name))),
    ignored,
  };
}

/** True for a string and for an uploaded image. */
export function isReferenceImage(value: unknown): value is ReferenceImage {
  return typeof value === "string" || isUploadedImage(value);
}

/** The kind of an HTTP status, if the provider's code says nothing else. */
export function failureKindOfStatus(status: number): UpstreamFailureKind {
  if (status === 401 || status === 403) return "credential";
  if (status === 402) return "quota";
  // The request path of a family is fixed, so a 404 means that the model or endpoint was not found.
  if (status === 404 || status === 410) return "model";
  if (status === 429) return "rate";
  if (status === 503) return "overload";
  // The provider gave up on a request that it had accepted. The client must not send it again.
  if (status === 408) return "server";
  // An error with status 2xx and an unknown code does not affect the channel's health.
  if (status >= 200 && status < 300) return "content";
  return status >= 400 && status < 500 ? "content" : "server";
}

/** The meaning of a provider's error code with any HTTP status. */
export interface CodeMeaning {
  readonly kind: UpstreamFailureKind;
  /** Default: the default of the kind. */
  readonly scope?: FailureScope;
}

/** Returns the kind and scope of an error: by its code if the family's table has it, otherwise by its HTTP status. */
export function classifyFailure(
  codes: ReadonlyMap<string, CodeMeaning>,
  status: number,
  code: string | undefined,
): CodeMeaning {
  const meaning = code === undefined ? undefined : codes.get(code);
  // "internal error" codes mean the same as their status. They are in the tables for errors that come with a 2xx.
  const isByStatus = meaning === undefined || (meaning.kind === "server" && status >= 300);
  if (isByStatus) return { kind: failureKindOfStatus(status) };
  // A 429 always cools for its `retry-after`, even if the provider calls it an overload.
  if (meaning.kind === "overload" && status === 429) return { kind: "rate", scope: "channel" };
  return meaning;
}

/** Creates a table of codes from lists of codes with the same meaning. */
export function createCodeTable(
  ...rows: readonly (readonly [meaning: CodeMeaning, ...codes: readonly string[]])[]
): ReadonlyMap<string, CodeMeaning> {
  return new Map(rows.flatMap(([meaning, ...codes]) => codes.map((code) => [code, meaning])));
}

/** Returns a count that a provider reported, or `undefined` if it is not a whole number of at least 0. */
export function readCount(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Of a dollar. Providers calculate with floats: what follows is not part of 0.30000000000000004. */
const COST_PLACES = 12;

/**
 * Reads a cost that a provider reported as a JSON number. Returns dollars as a decimal string for `Usage.cost_usd`, rounded
 * half up to 12 places, or `undefined` if the value is not a number above 0. There is no arithmetic with floats.
 *
 * @param places how many decimal places the provider's unit is below a dollar: 2 for cents. Default 0
 */
export function readCost(value: unknown, places = 0): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) return undefined;
  const cost = readDecimal(String(value));
  return formatDecimal(roundDecimal({ ...cost, places: cost.places + places }, COST_PLACES));
}

/** Reads the data of an event. `undefined` for `[DONE]`, and for other data that is too long or not a JSON object. */
export function parseData(data: string): JsonObject | undefined {
  if (data.length > MAX_EVENT_DATA) return undefined;
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Adds the number of images in the response to usage that says none. `undefined` if nothing was reported and no image came.
 */
export function countItems(usage: Usage | undefined, images: number): Usage | undefined {
  if (usage === undefined && images === 0) return undefined;
  return { generated_images: images, ...usage };
}

/** Longer names of a size or a quality are not read. */
const MAX_NAME = 32;

/**
 * Reads what a response says about an image: `size`, `quality`, and whether it is a layer. Layers have a `z_index`
 * above 0 (Ark's reference of `layer_decomposition`, November 2026).
 */
export function readMadeImage(item: unknown): MadeImage {
  if (!isJsonObject(item)) return {};
  const { size, quality, z_index: zIndex } = item;
  const made: { -readonly [Name in keyof MadeImage]: MadeImage[Name] } = {};
  if (isShort(size)) made.size = size;
  if (isShort(quality)) made.quality = quality;
  if (typeof zIndex === "number" && zIndex > 0) made.isLayer = true;
  return made;
}

function isShort(value: unknown): value is string {
  return typeof value === "string" && value.length <= MAX_NAME;
}

/** The members of an item that a client gets. `leftOut`: those of `ResponseShape`; with it, `null` is left out too. */
export function pickMembers(item: JsonObject, leftOut: readonly string[] | undefined): JsonObject {
  if (leftOut === undefined) return item;
  return Object.fromEntries(
    Object.entries(item).filter(([name, value]) => value !== null && !leftOut.includes(name)),
  );
}

/** Returns a string of a provider, or `undefined` if the value is not a string. */
export function readText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** True for a code that says that nothing failed. Services that imitate a provider send one beside the images. */
export function isSuccessCode(code: unknown): boolean {
  const plain = toPlainNumber(code);
  const isPlain = typeof plain === "string" || typeof plain === "number";
  return isPlain && /^(?:|0|200|ok|success)$/i.test(String(plain));
}

/** What FastAPI says is wrong with a request: `{"detail": "…" | [{"type","loc","msg"}]}`. Empty for any other body. */
export function readDetail({ detail }: JsonObject): Pick<UpstreamFailure, "code" | "message" | "param"> {
  const [first]: readonly unknown[] = Array.isArray(detail) ? detail : [];
  if (!isJsonObject(first)) return { message: readText(detail) };
  const path: readonly unknown[] = Array.isArray(first["loc"]) ? first["loc"] : [];
  const param = path.filter((name) => name !== "body").join(".");
  return { code: readText(first["type"]), message: readText(first["msg"]), param: readText(param) };
}

/** The names at the provider that the rows state. Models whose provider takes names without a date have these. */
export function listModelNames(rows: readonly ModelRow[]): readonly string[] {
  return rows.flatMap(({ names, upstreamNames = names }) => upstreamNames);
}

/** How names of models become names of rows. */
interface RowNames {
  /** Removes the provider's prefix, such as `doubao-`. */
  readonly toRowName: (name: string) => string;
  /** Matches the date of a build at the end of a name. */
  readonly buildDate: RegExp;
}

/**
 * Creates a function that finds the row of a model. A row names its models exactly: a name finds a row only if it is one
 * of the row's names, with or without the provider's prefix and with or without the date of a build.
 */
export function createRowFinder(
  rows: readonly ModelRow[],
  { toRowName, buildDate }: RowNames,
): (name: string) => ModelRow | undefined {
  const byName = new Map(rows.flatMap((row) => row.names.map((name) => [name, row])));
  return (name) => {
    const rowName = toRowName(name);
    return byName.get(rowName) ?? byName.get(rowName.replace(buildDate, ""));
  };
}
