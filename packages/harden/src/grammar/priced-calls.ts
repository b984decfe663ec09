import type { ImagePrice, ModelDetails, PriceTier } from "@calotype/core/billing";
import { chance, drawInt, pick, type Random } from "./draw.ts";

/** A request, what the provider responds to each of its calls, and two prices. */
export interface PricedCall {
  readonly family: string;
  readonly model: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly replies: readonly PricedReply[];
  readonly before: ModelDetails;
  readonly after: ModelDetails;
  readonly ratio: string;
  readonly onLost: "release" | "charge";
}

/** The response of a provider. */
interface PricedReply {
  readonly status: number;
  readonly isStream: boolean;
  readonly text: string;
  /** True if the connection breaks after the text. */
  readonly isCut: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

interface PricedFamily {
  readonly models: readonly string[];
  readonly sizes: readonly string[];
  readonly hasTokens: boolean;
  readonly qualities: readonly string[];
  drawRequest(random: Random, model: string): { readonly path?: string; readonly fields: Fields };
  drawReply(random: Random, request: Fields): Pick<PricedReply, "text"> & { readonly isStream?: boolean };
}

const GENERATIONS = "/v1/images/generations";
const BASE64 = "iVBORw0KGgo=";
const REFERENCE = "https://images.example/reference.png";
const PNG = `data:image/png;base64,${BASE64}`;
/** Sizes that responses state: below, at and above those that are requested, and some that are none. */
const MADE_SIZES = ["512x512", "1024x1024", "1536x1024", "2048x2048", "4096x4096", "2K", ""];

const seedream: PricedFamily = {
  models: ["seedream-4-5-251128", "seedream-5-0-pro-260628", "doodle"],
  sizes: ["2048x2048", "2560x1440", "2K"],
  hasTokens: true,
  qualities: [],
  drawRequest(random, model) {
    const isSingle = model.includes("pro");
    const isNative = chance(random, 0.2);
    if (!isNative && model !== "seedream-4-5-251128" && chance(random, 0.3)) {
      return { fields: { image: REFERENCE, layer_decomposition: true } };
    }
    return {
      path: isNative ? "/api/v3/images/generations" : GENERATIONS,
      fields: {
        ...sometimes(random, 0.3, "image", () =>
          Array.from({ length: drawInt(random, 1, 3) }, () => REFERENCE),
        ),
        ...(isNative
          ? sometimes(random, 0.4, "sequential_image_generation", () => "auto")
          : sometimes(random, 0.5, "n", () => drawInt(random, 1, 4))),
        ...(!isSingle && sometimes(random, 0.3, "stream", () => true)),
      },
    };
  },
  drawReply(random, { stream }) {
    const items = drawList(random, () =>
      chance(random, 0.1)
        ? { error: { code: "InternalServiceError", message: "No image." } }
        : {
            url: "https://images.example/1.png",
            ...sometimes(random, 0.8, "size", () => pick(random, MADE_SIZES)),
            ...sometimes(random, 0.2, "z_index", () => drawInt(random, 0, 3)),
          },
    );
    const usage = sometimes(random, 0.8, "usage", () => ({
      ...drawCounts(random, ["generated_images"], 5),
      ...drawCounts(random, ["output_tokens", "total_tokens"], 20_000),
      ...drawCounts(random, ["input_images"], 3),
    }));
    if (stream !== true) return { text: JSON.stringify({ model: "m", created: 1, data: items, ...usage }) };
    const events = items.map((item, at) =>
      writeEvent(`image_generation.partial_${"error" in item ? "failed" : "succeeded"}`, {
        image_index: at,
        ...item,
      }),
    );
    const end = chance(random, 0.8) ? writeEvent("image_generation.completed", usage) : "";
    return { text: `${events.join("")}${end}`, isStream: true };
  },
};

const qwenImage: PricedFamily = {
  models: ["image-2.0", "image-plus", "image-edit", "sketch"],
  sizes: ["1024*1024", "1328*1328"],
  hasTokens: false,
  qualities: [],
  drawRequest: (random, model) => ({
    fields: {
      ...sometimes(random, 0.4, "n", () => drawInt(random, 1, 3)),
      ...sometimes(random, model === "image-edit" ? 1 : 0.2, "image", () =>
        Array.from({ length: drawInt(random, 1, 3) }, () => REFERENCE),
      ),
    },
  }),
  drawReply(random) {
    const content = drawList(random, () => ({ image: "https://images.example/1.png" }));
    const usage = sometimes(random, 0.8, "usage", () => ({
      ...drawCounts(random, ["image_count"], 4),
      ...drawCounts(random, ["input_image_count"], 3),
      ...(chance(random, 0.7) && { width: pick(random, [512, 1024, 2048]), height: 1024 }),
    }));
    const choices = [{ finish_reason: "stop", message: { role: "assistant", content } }];
    return { text: JSON.stringify({ output: { choices }, ...usage, request_id: "r" }) };
  },
};

const openai: PricedFamily = {
  models: ["gpt-image-2", "gpt-image-1.5", "painter"],
  sizes: ["1024x1024", "1536x1024", "auto"],
  hasTokens: true,
  qualities: ["low", "medium", "high"],
  drawRequest(random) {
    const references = chance(random, 0.3) ? drawInt(random, 1, 3) : 0;
    return {
      path: references > 0 ? "/v1/images/edits" : GENERATIONS,
      fields: {
        ...sometimes(random, 0.5, "n", () => drawInt(random, 1, 4)),
        ...sometimes(random, 0.5, "quality", () => pick(random, ["low", "medium", "high", "auto"])),
        ...sometimes(random, 0.3, "stream", () => true),
        ...(references > 0 && { images: Array.from({ length: references }, () => ({ image_url: PNG })) }),
      },
    };
  },
  drawReply(random, { stream, images }) {
    const says = {
      ...sometimes(random, 0.6, "size", () => pick(random, MADE_SIZES)),
      ...sometimes(random, 0.6, "quality", () => pick(random, ["low", "medium", "high"])),
    };
    const drawUsage = (): Fields =>
      sometimes(random, 0.8, "usage", () => ({
        ...drawCounts(random, ["input_tokens"], 100),
        ...drawCounts(random, ["output_tokens"], 500),
        ...drawCounts(random, ["total_tokens"], 600),
        ...sometimes(random, 0.6, "input_tokens_details", () =>
          drawCounts(random, ["text_tokens", "image_tokens", "cached_tokens"], 50),
        ),
        ...sometimes(random, 0.4, "output_tokens_details", () =>
          drawCounts(random, ["text_tokens", "image_tokens"], 300),
        ),
      }));
    const items = drawList(random, () => ({ b64_json: BASE64 }));
    if (stream !== true) {
      return { text: JSON.stringify({ created: 1, data: items, ...says, ...drawUsage() }) };
    }
    const type = `image_${images === undefined ? "generation" : "edit"}.completed`;
    const events = items.map((item) => writeEvent(type, { ...item, ...says, ...drawUsage() }));
    return { text: events.join(""), isStream: true };
  },
};

const gemini: PricedFamily = {
  models: ["gemini-2.5-flash-image", "gemini-3-pro-image"],
  sizes: ["1024x1024"],
  hasTokens: true,
  qualities: [],
  drawRequest: (random) => ({
    fields: {
      ...sometimes(random, 0.6, "n", () => drawInt(random, 1, 3)),
      ...sometimes(random, 0.3, "image", () => [PNG]),
    },
  }),
  drawReply(random) {
    const parts = drawList(random, () => ({ inlineData: { mimeType: "image/png", data: BASE64 } }));
    const modalities = (): readonly Fields[] =>
      ["TEXT", "IMAGE"].map((modality) => ({ modality, ...drawCounts(random, ["tokenCount"], 500) }));
    const usageMetadata = sometimes(random, 0.8, "usageMetadata", () => ({
      ...drawCounts(random, ["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"], 1_000),
      ...drawCounts(random, ["totalTokenCount", "cachedContentTokenCount"], 2_000),
      ...sometimes(random, 0.5, "promptTokensDetails", modalities),
      ...sometimes(random, 0.5, "candidatesTokensDetails", modalities),
    }));
    return {
      text: JSON.stringify({ candidates: [{ content: { parts }, finishReason: "STOP" }], ...usageMetadata }),
    };
  },
};

const FAMILIES: readonly (readonly [string, PricedFamily])[] = [
  ["seedream", seedream],
  ["qwen-image", qwenImage],
  ["openai", openai],
  ["gemini", gemini],
];

export function drawPricedCall(random: Random): PricedCall {
  const [name, family] = pick(random, FAMILIES);
  const model = pick(random, family.models);
  const { path = GENERATIONS, fields } = family.drawRequest(random, model);
  const body = {
    model,
    prompt: "a fox",
    ...fields,
    ...sometimes(random, 0.6, "size", () => pick(random, family.sizes)),
  };
  const drawReply = (): PricedReply => ({
    status: chance(random, 0.05) ? pick(random, [400, 500]) : 200,
    isStream: false,
    isCut: chance(random, 0.05),
    ...family.drawReply(random, body),
  });
  return {
    family: name,
    model,
    path,
    body,
    replies: Array.from({ length: 4 }, drawReply),
    before: drawDetails(random, family),
    after: drawDetails(random, family),
    ratio: pick(random, ["1", "0.8", "1.25"]),
    onLost: pick(random, ["release", "charge"]),
  };
}

function drawDetails(random: Random, { hasTokens, qualities }: PricedFamily): ModelDetails {
  const places = sometimes(random, 0.2, "decimal_places", () => drawInt(random, 0, 6));
  const kind = random();
  if (kind < 0.25) return { pricing_mode: "per-request", model_price: drawPrice(random), ...places };
  if (kind < 0.65 || !hasTokens) {
    const lists = [undefined, ...qualities].filter((name) => chance(random, name === undefined ? 0.7 : 0.4));
    const image_prices = (lists.length > 0 ? lists : [undefined]).flatMap((quality): readonly ImagePrice[] =>
      drawTiers(random).map((tier) => ({ ...tier, ...(quality !== undefined && { quality }) })),
    );
    const hasReferences = chance(random, 0.5);
    return {
      pricing_mode: "per-request",
      image_prices,
      ...(hasReferences && { reference_image_price: drawPrice(random) }),
      ...(hasReferences && chance(random, 0.5) && { free_reference_images: drawInt(random, 0, 3) }),
      ...(chance(random, 0.4) && {
        layer_price: chance(random, 0.5) ? drawPrice(random) : drawTiers(random),
      }),
      ...places,
    };
  }
  const kinds = kind < 0.8 ? [] : KIND_PRICES.filter(() => chance(random, 0.5));
  return {
    pricing_mode: "per-token",
    output_token_price: drawPrice(random),
    ...(chance(random, 0.7) && { input_token_price: drawPrice(random) }),
    ...Object.fromEntries(kinds.map((name) => [name, drawPrice(random)])),
    ...places,
  };
}

const KIND_PRICES = [
  "input_text_token_price",
  "input_image_token_price",
  "cached_input_token_price",
  "output_image_token_price",
  "output_text_token_price",
];

/** Tiers that end at the sizes of requests and responses, or just below them. */
function drawTiers(random: Random): readonly PriceTier[] {
  const ends = [262_144, 1_048_575, 1_048_576, 2_359_296, 4_194_304].filter(() => chance(random, 0.3));
  return [
    ...ends.map((up_to_pixels) => ({ up_to_pixels, price: drawPrice(random) })),
    { price: drawPrice(random) },
  ];
}

function drawPrice(random: Random): string {
  return chance(random, 0.05) ? "0" : (drawInt(random, 1, 9_999) / 1_000).toString();
}

/** Each of these counts with a probability of three quarters: up to `max`, or rarely far more than is possible. */
function drawCounts(random: Random, names: readonly string[], max: number): Fields {
  const counts = names
    .filter(() => chance(random, 0.75))
    .map((name) => [name, chance(random, 0.03) ? max * 1_000 : drawInt(random, 0, max)] as const);
  return Object.fromEntries(counts);
}

/** None to four items. */
function drawList<T>(random: Random, draw: () => T): readonly T[] {
  const length = chance(random, 0.1) ? 0 : drawInt(random, 1, 4);
  return Array.from({ length }, draw);
}

function sometimes<Name extends string, T>(
  random: Random,
  probability: number,
  name: Name,
  draw: () => T,
): { readonly [Key in Name]?: T } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The type of a computed name is a string.
  return (chance(random, probability) ? { [name]: draw() } : {}) as { readonly [Key in Name]?: T };
}

function writeEvent(type: string, fields: Fields): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
