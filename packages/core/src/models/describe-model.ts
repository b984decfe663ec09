import type { Capabilities } from "../families/capabilities.js";
import type { SizeLimits } from "../images/size.js";
import type { Operation } from "../types.js";
import type { ResolvedModel } from "./resolve-model.js";

/** A model as `GET /v1/models` shows it, in the spelling of OpenAI's interface. */
export interface ModelEntry {
  readonly id: string;
  readonly object: "model";
  /** When the provider released the model, in seconds since 1970; 0 if this is not known. */
  readonly created: number;
  /** The name of the model's family. */
  readonly owned_by: string;
  readonly capabilities: ModelEntryCapabilities;
}

/** What a client can request of a model on `/v1`. `null` means that it is not known, or that there is no such limit. */
interface ModelEntryCapabilities {
  /** `generate`: `/v1/images/generations`. `edit`: `/v1/images/edits`. */
  readonly operations: readonly Exclude<Operation, "native">[];
  readonly sizes: ModelEntrySizes | null;
  /** The largest `n`, including several upstream calls for one request. */
  readonly max_images: number | null;
  readonly references: { readonly min: number; readonly max: number } | null;
  /** The largest number of reference images and images together. */
  readonly max_references_and_images: number | null;
  /** Whether a request may have `stream: true`. */
  readonly stream: boolean;
  /** The values of `background`. `null`: the field is not sent. */
  readonly background: readonly string[] | null;
  /** The values of `output_format`. `null`: any value is sent. */
  readonly output_formats: readonly string[] | null;
  /** The values of `quality` besides `auto`. Absent: the field is not checked. */
  readonly qualities?: readonly string[];
  /** What `layer_decomposition` makes, beside the base image. */
  readonly layers: { readonly max: number; readonly sizes: readonly string[] | null } | null;
}

/** The accepted values of `size`. If both lists are empty and everything else is `null`, the model takes no `size`. */
interface ModelEntrySizes {
  /** Names such as `2K`. */
  readonly presets: readonly string[];
  /** If it is not empty: only these sizes in pixels, `<width>x<height>`. */
  readonly list: readonly string[];
  /** Width times height. */
  readonly min_pixels: number | null;
  readonly max_pixels: number | null;
  /** Of each side. */
  readonly min_side: number | null;
  readonly max_side: number | null;
  /** The longer side divided by the shorter one. */
  readonly max_aspect_ratio: number | null;
  /** Both sides are multiples of this. Absent: of any number of pixels. */
  readonly multiple_of?: number;
}

/** Describes a model for clients, as far as this does not depend on the caller. */
export function describeModel(model: ResolvedModel): ModelEntry {
  const { name, family, channels, capabilities = {} } = model;
  const { references, background, outputFormats, qualities, layers } = capabilities;
  return {
    id: name,
    object: "model",
    created: toSeconds(capabilities.released),
    owned_by: family.name,
    capabilities: {
      operations: findOperations(model),
      sizes: describeSizes(capabilities.size),
      max_images: countMaxImages(model),
      references: references === undefined ? null : { min: references.min ?? 0, max: references.max },
      max_references_and_images: capabilities.maxReferencesAndImages ?? null,
      stream:
        capabilities.streaming !== false && channels.some(({ dialect }) => dialect.readStream !== undefined),
      background: background?.values ?? null,
      output_formats: outputFormats ?? null,
      ...(qualities !== undefined && { qualities }),
      layers:
        layers === undefined || layers === "none" ? null : { max: layers.max, sizes: layers.sizes ?? null },
    },
  };
}

/** Without the native endpoint, and without edits if the model takes no reference image. */
function findOperations({ operations, capabilities }: ResolvedModel): ModelEntryCapabilities["operations"] {
  const takesImages = capabilities?.references?.max !== 0;
  const served = [...operations].filter((operation) => operation !== "native");
  return served.filter((operation) => operation !== "edit" || takesImages);
}

function toSeconds(released: string | undefined): number {
  return released === undefined ? 0 : Date.parse(released) / 1000;
}

/** A model that makes one image per call makes several with several calls. */
function countMaxImages({ capabilities, maxUpstreamCalls }: ResolvedModel): number | null {
  const ofOneCall = capabilities?.imagesPerCall;
  return ofOneCall === 1 ? maxUpstreamCalls : (ofOneCall ?? null);
}

function describeSizes(size: Capabilities["size"]): ModelEntrySizes | null {
  if (size === undefined) return null;
  const limits: SizeLimits = size === "none" ? {} : size;
  const isUnlimited = size !== "none" && Object.values(limits).every((rule) => rule === undefined);
  if (isUnlimited) return null;
  const { presets = [], list = [], totalPixels, side, maxAspectRatio, multipleOf } = limits;
  return {
    presets,
    list: list.map(([width, height]) => `${width}x${height}`),
    min_pixels: totalPixels?.min ?? null,
    max_pixels: totalPixels?.max ?? null,
    min_side: side?.min ?? null,
    max_side: side?.max ?? null,
    max_aspect_ratio: maxAspectRatio ?? null,
    ...(multipleOf !== undefined && { multiple_of: multipleOf }),
  };
}
