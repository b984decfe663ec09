import type { EstimateQuery, ModelEntry } from "../../wire.js";
import { findSizeChoices } from "./sizes.js";

/** A reference image that the person has chosen. */
export interface Reference {
  readonly id: number;
  readonly name: string;
  /** What is sent. */
  readonly dataUrl: string;
  /** What is shown. */
  readonly objectUrl: string;
}

/** What the composer holds. */
export interface Draft {
  readonly model: string;
  /** `""`: no comparison. */
  readonly compared: string;
  readonly prompt: string;
  readonly aspect: string;
  readonly resolution: string;
  readonly count: number;
  readonly format: string;
  readonly background: string;
  readonly quality: string;
  /** Further fields as JSON. */
  readonly further: string;
  readonly references: readonly Reference[];
}

export const EMPTY_DRAFT: Draft = {
  model: "",
  compared: "",
  prompt: "",
  aspect: "",
  resolution: "",
  count: 1,
  format: "",
  background: "",
  quality: "",
  further: "",
  references: [],
};

/** The fields that a model accepts, of what the draft holds. Without `response_format` and `stream`. */
export function toQuery(
  draft: Draft,
  model: ModelEntry,
  imageOf: (reference: Reference) => string,
): EstimateQuery {
  const { capabilities } = model;
  const { prompt, aspect, resolution, count, format, background, quality, references } = draft;
  const size = findSizeChoices(capabilities.sizes)?.toSize({ aspect, resolution });
  const taken = capabilities.operations.includes("edit") ? references : [];
  return {
    operation: taken.length > 0 ? "edit" : "generate",
    fields: {
      model: model.id,
      prompt,
      ...(size !== undefined && { size }),
      ...(count > 1 && { n: count }),
      ...(allowed(capabilities.output_formats, format) && { output_format: format }),
      ...(allowed(capabilities.background, background) && { background }),
      ...(allowed(capabilities.qualities, quality) && { quality }),
      ...(taken.length > 0 && { images: taken.map((reference) => ({ image_url: imageOf(reference) })) }),
      ...parseFurther(draft.further),
    },
  };
}

/** What a person can set and a model may not take. */
const OPTIONAL = ["aspect", "resolution", "references", "format", "background", "quality"] as const;
type Optional = (typeof OPTIONAL)[number];

/** What the draft sets and a model does not take, so that it is not sent. */
export function findUnsent(draft: Draft, { capabilities }: ModelEntry): readonly Optional[] {
  const { aspect, resolution, format, background, quality } = draft;
  const choices = findSizeChoices(capabilities.sizes);
  const isSent: Readonly<Record<Optional, boolean>> = {
    aspect: aspect === "" || choices?.aspects.includes(aspect) === true,
    resolution: resolution === "" || choices?.resolutionsOf(aspect).includes(resolution) === true,
    references: draft.references.length === 0 || capabilities.operations.includes("edit"),
    format: format === "" || allowed(capabilities.output_formats, format),
    background: background === "" || allowed(capabilities.background, background),
    quality: quality === "" || allowed(capabilities.qualities, quality),
  };
  return OPTIONAL.filter((name) => !isSent[name]);
}

function allowed(values: readonly string[] | null | undefined, value: string): boolean {
  return value !== "" && values?.includes(value) === true;
}

/** The fields that Try sets itself: it shows images from the response, as they arrive. With others the images would be lost. */
const OWN_FIELDS = ["response_format", "stream"];

/** The first of the further fields that Try sets itself. */
export function findOwnField(text: string): string | undefined {
  const fields = parseFurther(text) ?? {};
  return OWN_FIELDS.find((name) => name in fields);
}

/** Whether a request can have these further fields. */
export function isSoundFurther(text: string): boolean {
  return parseFurther(text) !== undefined && findOwnField(text) === undefined;
}

/** Returns `undefined` for a text that is not a JSON object. */
export function parseFurther(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value))
      : undefined;
  } catch {
    // The person is still writing.
    return undefined;
  }
}

/** The largest number of images that the composer asks for. */
export function maxCountOf({ capabilities }: ModelEntry): number {
  return Math.min(capabilities.max_images ?? 4, 15);
}
