/** Ark's fields for several images from one request. Other options of the client are kept. */
export interface SequentialFields {
  readonly sequential_image_generation?: "auto" | "disabled" | undefined;
  readonly sequential_image_generation_options?:
    | { readonly max_images?: number | undefined; readonly [option: string]: unknown }
    | undefined;
}

/**
 * The rule for `n` of family A: above 1 it sets `sequential_image_generation` to `auto` and
 * `max_images` to `n`, each only where the client did not set that field itself. The client's own
 * `disabled` stands, and then nothing is added.
 */
export function applyImageCount(n: number | undefined, explicit: SequentialFields): SequentialFields {
  if (n === undefined || n <= 1 || explicit.sequential_image_generation === "disabled") return explicit;
  const options = explicit.sequential_image_generation_options;
  return {
    sequential_image_generation: "auto",
    sequential_image_generation_options: { ...options, max_images: options?.max_images ?? n },
  };
}

/**
 * The most images that a request may make: one unless batches are on, then `max_images`, and
 * without it whatever the references leave of `maxReferencesAndImages`.
 */
export function countMaxImages(
  fields: SequentialFields,
  references: number,
  maxReferencesAndImages: number,
): number {
  if (fields.sequential_image_generation !== "auto") return 1;
  return (
    fields.sequential_image_generation_options?.max_images ?? Math.max(1, maxReferencesAndImages - references)
  );
}
