import { type Bytes, drawCuts, mutateBytes, toBytes } from "./bytes.ts";
import { chance, drawInt, pick, type Random } from "./draw.ts";
import { drawFieldsCase } from "./fields.ts";
import { drawFormRequest } from "./forms.ts";
import { type Json, mutateJson, toJson, writeJson } from "./json-text.ts";
import { EDITS, GENERATIONS, NATIVE, QWEN_IMAGE, QWEN_IMAGE_EDIT, SEEDREAM, SEEDREAM_2 } from "./requests.ts";

/** A JSON body for the request normalizer. */
export interface JsonBody {
  readonly path: string;
  readonly body: Bytes;
  /** Where the body is cut into chunks. */
  readonly cuts: readonly number[];
}

/** A form for the request normalizer. */
export interface FormBody extends JsonBody {
  readonly contentType: string;
  /** The images of a valid form in their order, as data URLs; `null` if the form is not valid. */
  readonly images: readonly string[] | null;
}

/** Longer texts would take most of the time. The part `requests` sends them. */
const MAX_MUTATED = 20_000;

const NUMBERS = [
  "0",
  "-0",
  "1.0",
  "1e0",
  "1E+2",
  "0.1",
  "1e400",
  "-1e-400",
  "12345678901234567890",
  "9007199254740993",
  "0.1000000000000000055",
  "1e21",
  "123456789012345",
];

/** A JSON body: half of them valid or nearly so, the others changed in structure or bytes. */
export function drawJsonBody(random: Random): JsonBody {
  const { family, operation, fields } = drawFieldsCase(random);
  const model =
    family === "seedream"
      ? pick(random, [SEEDREAM, SEEDREAM_2])
      : pick(random, [QWEN_IMAGE, QWEN_IMAGE_EDIT]);
  const pairs: (readonly [string, Json])[] = [["model", model], ...toPairs(fields)];
  if (chance(random, 0.3)) pairs.push(["forwarded", { raw: drawNumber(random) }]);
  if (chance(random, 0.001))
    pairs.push(["image", `data:image/png;base64,${"QUJD".repeat(drawInt(random, 16_000, 20_000))}`]);
  const json: Json = { pairs: chance(random, 0.1) ? pairs.toReversed() : pairs };
  const isSpaced = chance(random, 0.3);
  const space = (): string => (isSpaced ? pick(random, ["", "", " ", "\n", "\t", "\r\n"]) : "");
  const mutated = chance(random, 0.3) ? writeJson(mutateJson(random, json), space) : "";
  const text = mutated === "" || mutated.length > MAX_MUTATED ? writeJson(json, space) : mutated;
  const escaped = chance(random, 0.3) ? escape(random, text) : text;
  const bytes = chance(random, 0.1) ? mutateBytes(random, Buffer.from(escaped)) : Buffer.from(escaped);
  return {
    path: operation === "native" ? NATIVE : GENERATIONS,
    body: toBytes(bytes),
    cuts: drawCuts(random, bytes.length),
  };
}

function toPairs(fields: Readonly<Record<string, unknown>>): readonly (readonly [string, Json])[] {
  return Object.entries(fields).map(([name, value]) => [name, toJson(value)] as const);
}

function drawNumber(random: Random): string {
  if (chance(random, 0.5)) return pick(random, NUMBERS);
  const digits = Array.from({ length: drawInt(random, 1, 25) }, () => drawInt(random, 0, 9)).join("");
  return `${chance(random, 0.3) ? "-" : ""}${drawInt(random, 1, 9)}${digits}${pick(random, ["", ".5", ".50", "e5", "E-7"])}`;
}

/** Some letters as escapes, which mean the same. */
function escape(random: Random, text: string): string {
  const letter = pick(random, ["é", "😀", "橘", "e", "o", "/", "m"]);
  return text.replaceAll(letter, (match) => {
    // In literals and numbers an escape is not JSON; that is a case, too.
    return Array.from({ length: match.length }, (_, index) => {
      return `\\u${match.charCodeAt(index).toString(16).padStart(4, "0")}`;
    }).join("");
  });
}

/** A form: a third of them valid, the others with odd parts, odd framing or changed bytes. */
export function drawFormBody(random: Random): FormBody {
  const { headers, body, cuts, isValid, forwards } = drawFormRequest(random);
  const contentType = headers.find(([name]) => name === "content-type")?.[1] ?? "";
  const images = forwards?.["image"];
  return {
    path: EDITS,
    body: body ?? { text: "" },
    cuts,
    contentType,
    images: isValid && Array.isArray(images) ? images.map(String) : null,
  };
}
