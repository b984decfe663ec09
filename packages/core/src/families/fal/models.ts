import type { ModelRow } from "../capabilities.js";
import { type ModelInput, type Tiers, toRatio, toSides } from "../fields/write-input.js";

/** How an endpoint of fal takes what clients send. */
export interface FalModel extends ModelInput {
  /** The endpoint of requests with reference images, if it is another one, such as `fal-ai/flux-2-pro/edit`. */
  readonly edit?: string | undefined;
}

const toImageSize = (size: string) => ({ image_size: toSides(size) });

/** Of an endpoint that is not in the table: the names that most endpoints have. */
export const USUAL_INPUT: FalModel = {
  images: "image_urls[]",
  mask: "mask_url",
  size: toImageSize,
  count: "num_images",
};

/** Of Google's models. */
const RATIOS = "21:9 16:9 3:2 4:3 5:4 1:1 4:5 3:4 2:3 9:16".split(" ");
const TIERS: Tiers = [
  [1536 ** 2, "1K"],
  [3072 ** 2, "2K"],
  [Number.POSITIVE_INFINITY, "4K"],
];

const COMMON = {
  source: "fal's reference (fal.ai/docs) and the packages `@fal-ai/client` 1.10.1 and `@ai-sdk/fal` 3.0.41",
  checked: "2026-11",
  streaming: false,
};

const FLUX_2 = ["fal-ai/flux-2-pro", "fal-ai/flux-2-flex", "fal-ai/flux-2-max"] as const;
const FLUX_1 = ["fal-ai/flux/dev", "fal-ai/flux/schnell"] as const;
const KONTEXT = ["fal-ai/flux-pro/kontext", "fal-ai/flux-pro/kontext/max"] as const;
const GOOGLE = ["fal-ai/nano-banana-pro", "fal-ai/nano-banana-2"] as const;
const SEEDREAM = "fal-ai/bytedance/seedream/v4.5";

/** Endpoints of fal. What an endpoint takes is in its own schema, which is not public as a list: most facts are second-hand. */
export const FAL_MODELS: readonly ModelRow[] = [
  {
    ...COMMON,
    names: FLUX_2,
    size: {},
    references: { max: 8 },
    imagesPerCall: 1,
    outputFormats: ["jpeg", "png"],
    note: "An edit goes to `/edit`. Second-hand: the limits.",
  },
  {
    ...COMMON,
    names: ["fal-ai/flux-2"],
    size: {},
    references: { max: 4 },
    imagesPerCall: 4,
    outputFormats: ["jpeg", "png", "webp"],
    note: "An edit goes to `/edit`. Second-hand: the limits.",
  },
  {
    ...COMMON,
    names: FLUX_1,
    size: {},
    references: { max: 0 },
    imagesPerCall: 4,
    outputFormats: ["jpeg", "png"],
    note: "Second-hand: the limits.",
  },
  {
    ...COMMON,
    names: KONTEXT,
    size: { maxAspectRatio: 2.34 },
    references: { min: 1, max: 1 },
    imagesPerCall: 4,
    outputFormats: ["jpeg", "png"],
    note: "Edits only. A size becomes `aspect_ratio`. Second-hand: the limits and the fields.",
  },
  {
    ...COMMON,
    names: GOOGLE,
    size: { maxAspectRatio: 2.34 },
    references: { max: 14 },
    imagesPerCall: 4,
    outputFormats: ["jpeg", "png", "webp"],
    note: "A size becomes `aspect_ratio` and `resolution`. An edit goes to `/edit`. Second-hand: the limits and the fields.",
  },
  {
    ...COMMON,
    names: [`${SEEDREAM}/text-to-image`],
    size: {},
    references: { max: 10 },
    imagesPerCall: 6,
    note: `An edit goes to \`${SEEDREAM}/edit\`. Second-hand: the limits.`,
  },
];

const ofEach = (names: readonly string[], toInput: (name: string) => FalModel) =>
  names.map((name) => [name, toInput(name)] as const);

const count = "num_images";
const inList = (edit: string): FalModel => ({ images: "image_urls[]", edit, size: toImageSize });

/** How the endpoints of the table take what clients send. */
export const FAL_INPUTS: ReadonlyMap<string, FalModel> = new Map([
  ...ofEach(FLUX_2, (name) => inList(`${name}/edit`)),
  ["fal-ai/flux-2", { ...inList("fal-ai/flux-2/edit"), count }],
  ...ofEach(FLUX_1, () => ({ size: toImageSize, count })),
  ...ofEach(KONTEXT, () => ({ images: "image_url", size: toRatio([...RATIOS, "9:21"]), count })),
  ...ofEach(GOOGLE, (name) => ({ ...inList(`${name}/edit`), size: toRatio(RATIOS, TIERS), count })),
  [`${SEEDREAM}/text-to-image`, { ...inList(`${SEEDREAM}/edit`), count }],
]);
