import type { FieldChanges } from "../../channels/channel.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

/**
 * Fields of all families that decide the number or the size of images, the model, the prompt, the stream, or what is charged.
 * Names are compared without `_` and in lower case.
 */
const FIXED: readonly string[] = [
  "model",
  "version", // of a model of Replicate
  "prompt",
  "messages",
  "contents",
  "n",
  "num_images",
  "num_outputs",
  "number_of_images",
  "candidate_count",
  "batch_size",
  "max_images",
  "sequential_image_generation",
  "sequential_image_generation_options",
  "enable_sequential",
  "size",
  "image_size",
  "width",
  "height",
  "aspect_ratio",
  "resolution",
  "megapixels",
  "quality",
  "stream",
  "partial_images",
];
/** Objects that have such fields. Others in them can be changed. */
const WITH_FIXED: readonly string[] = ["input", "parameters", "generation_config", "image_config"];

const normalize = (name: string): string => name.replaceAll(/[_-]/g, "").toLowerCase();
const isAmong = (names: readonly string[], name = ""): boolean =>
  names.some((other) => normalize(other) === normalize(name));

interface FieldProblem {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Returns the fields that cannot be named. */
export function findFixedFields({
  set = {},
  default: absent = {},
  remove = [],
}: FieldChanges): FieldProblem[] {
  return [
    ...findInObject(set, ["set"]),
    ...findInObject(absent, ["default"]),
    ...remove.flatMap((name, index) => {
      const names = name.split(".");
      const isFixed = names.some((each) => isAmong(FIXED, each)) || isAmong(WITH_FIXED, names.at(-1));
      return isFixed ? [{ path: ["remove", index], message: describe() }] : [];
    }),
  ];
}

const describe = (): string =>
  `names a field that decides what is made and charged. These cannot be changed: ${FIXED.join(", ")}`;

function findInObject(fields: JsonObject, path: readonly PropertyKey[]): FieldProblem[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const here = [...path, name];
    const replacesAll = isAmong(WITH_FIXED, name) && !isJsonObject(value);
    if (isAmong(FIXED, name) || replacesAll) return [{ path: here, message: describe() }];
    return isJsonObject(value) ? findInObject(value, here) : [];
  });
}
