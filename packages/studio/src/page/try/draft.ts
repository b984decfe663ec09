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

function allowed(values: readonly string[] | null | undefined, value: string): boolean {
  return value !== "" && values?.includes(value) === true;
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
