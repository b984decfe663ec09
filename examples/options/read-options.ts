import type { ChannelOptions, GatewayOptions } from "@calotype/core";
import { readConfig } from "./read-config.ts";

/** Variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the options of the example apps from their environment: CALOTYPE_API_KEY, ARK_BASE_URL, ARK_API_KEY,
 * DASHSCOPE_BASE_URL, DASHSCOPE_API_KEY, and CALOTYPE_CONFIG, a JSON file whose options replace those below, each as
 * a whole. A provider is used if its address or its key is set.
 */
export function readOptions(env: Environment): GatewayOptions {
  const config = readConfig(env);
  const { ark, dashscope } = findLiveProviders(env);
  const offered = [toArkChannel(env), toDashscopeChannel(env)];
  const channels = config.channels ?? offered.filter(({ id }) => (id === "ark" ? ark : dashscope));
  const serves = (family: string): boolean => channels.some((channel) => channel.family === family);
  const models = offered
    .filter(({ family }) => serves(family))
    .flatMap(({ family, modelMapping = {} }) =>
      Object.keys(modelMapping).map((model) => [model, { family }] as const),
    );
  return {
    models: Object.fromEntries(models),
    callers: [{ id: "default", key: env["CALOTYPE_API_KEY"] || undefined }],
    billing: {
      model_details: {
        ...(serves("seedream") && PRICES.seedream),
        ...(serves("qwen-image") && PRICES["qwen-image"]),
      },
    },
    // GET /v1/models shows the prices of each caller's group.
    showPrices: true,
    onUsage: (record) => console.log(JSON.stringify(record)),
    ...config,
    channels,
  };
}

/** Which providers are set in the environment. */
export function findLiveProviders(env: Environment): { ark: boolean; dashscope: boolean } {
  return {
    ark: Boolean(env["ARK_BASE_URL"] || env["ARK_API_KEY"]),
    dashscope: Boolean(env["DASHSCOPE_BASE_URL"] || env["DASHSCOPE_API_KEY"]),
  };
}

const NEW_SEEDREAMS = ["seedream-5-0-pro-260628", "seedream-5-0-flash-260915"];
const OLD_SEEDREAMS = ["seedream-5-0-lite-260128", "seedream-4-5-251128", "seedream-4-0-250828"];

function toArkChannel(env: Environment): ChannelOptions {
  // BytePlus, the international site of Ark, names the models with "dola-" or, the older ones, without a prefix.
  const isBytePlus = env["ARK_BASE_URL"]?.includes("bytepluses.com") ?? false;
  return {
    id: "ark",
    family: "seedream",
    apiKey: env["ARK_API_KEY"] || "none",
    baseUrl: env["ARK_BASE_URL"] || undefined,
    modelMapping: Object.fromEntries([
      ...NEW_SEEDREAMS.map((model) => [model, `${isBytePlus ? "dola-" : "doubao-"}${model}`]),
      ...OLD_SEEDREAMS.map((model) => [model, `${isBytePlus ? "" : "doubao-"}${model}`]),
    ]),
  };
}

function toDashscopeChannel(env: Environment): ChannelOptions {
  return {
    id: "dashscope",
    family: "qwen-image",
    apiKey: env["DASHSCOPE_API_KEY"] || "none",
    baseUrl: env["DASHSCOPE_BASE_URL"] || undefined,
    modelMapping: {
      "image-2.0*": "qwen-image-2.0*",
      "image-max": "qwen-image-max",
      "image-plus": "qwen-image-plus",
      "image-edit*": "qwen-image-edit*",
    },
  };
}

const perImage = (model_price: string) => ({ pricing_mode: "per-request" as const, model_price });

/** Larger images cost more, and layers half. */
const PRO_PRICE = {
  pricing_mode: "per-request" as const,
  image_prices: [{ up_to_pixels: 2_610_000, price: "0.3" }, { price: "0.6" }],
  layer_price: [{ up_to_pixels: 2_610_000, price: "0.15" }, { price: "0.3" }],
};

/** The prices by family, because a price for a model that is not served would be an error. */
const PRICES = {
  seedream: {
    "seedream-5-0-pro-260628": PRO_PRICE,
    "seedream-5-0-flash-260915": perImage("0.12"),
    "seedream-5-0-lite-260128": perImage("0.22"),
    "seedream-4-5-251128": perImage("0.25"),
    "seedream-4-0-250828": perImage("0.2"),
  },
  "qwen-image": {
    "image-2.0*": perImage("0.2"),
    "image-2.0-pro*": perImage("0.5"),
    "image-max": perImage("0.5"),
    "image-plus": perImage("0.2"),
    "image-edit*": perImage("0.3"),
    "image-edit-max*": perImage("0.5"),
    "image-edit-plus*": perImage("0.2"),
  },
};
