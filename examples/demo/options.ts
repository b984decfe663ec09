import type { GatewayOptions } from "@calotype/core";
import type { EmulatorServer } from "@calotype/emulator";

/** The keys of the demo's callers. */
export const KEYS = {
  webShop: "sk-web-shop",
  trial: "sk-trial",
  chat: "sk-chat",
  script: "sk-script",
  nightly: "sk-nightly",
  studio: "sk-studio",
  visitor: "sk-visitor",
};

/** The budget of the caller studio. */
export const STUDIO_BUDGET = "1.20";

/** The caller that pays in the studio's Try. */
export const VISITOR = "visitor";

/** The options of the app, also written to `demo-output/options.json`. */
export function createOptions(near: EmulatorServer, far: EmulatorServer): Partial<GatewayOptions> {
  return {
    channels: [
      {
        id: "ark",
        family: "seedream",
        apiKey: "ark-demo-key",
        baseUrl: near.arkBaseUrl,
        modelMapping: { "seedream-*": "doubao-seedream-*" },
      },
      {
        id: "dashscope",
        family: "qwen-image",
        apiKey: "dashscope-demo-key",
        baseUrl: near.dashscopeBaseUrl,
        modelMapping: { "image-*": "qwen-image-*" },
        priority: 1,
      },
      {
        id: "dashscope-intl",
        family: "qwen-image",
        apiKey: "dashscope-intl-demo-key",
        baseUrl: far.dashscopeBaseUrl,
        modelMapping: { "image-*": "qwen-image-*" },
      },
      { id: "openai", family: "openai", apiKey: "openai-demo-key", baseUrl: near.baseUrls.openai },
      { id: "bfl", family: "bfl", apiKey: "bfl-demo-key", baseUrl: near.baseUrls.bfl },
    ],
    models: {
      "seedream-5-0-pro-260628": { family: "seedream" },
      "seedream-5-0-flash-260915": { family: "seedream" },
      "seedream-5-0-lite-260128": { family: "seedream" },
      "seedream-4-5-251128": { family: "seedream" },
      "seedream-4-0-250828": { family: "seedream" },
      "image-2.0-pro": { family: "qwen-image" },
      "gpt-image-2": { family: "openai" },
      "flux-2-pro": { family: "bfl" },
    },
    callers: [
      { id: "web-shop", key: KEYS.webShop, group: "vip" },
      { id: "trial", key: KEYS.trial, budget: "0.50", limits: { requestsPerMinute: 3 } },
      { id: "chat", key: KEYS.chat, client: "librechat" },
      { id: "script", key: KEYS.script, client: "openai" },
      { id: "nightly", key: KEYS.nightly, limits: { concurrent: 1 } },
      { id: "studio", key: KEYS.studio, budget: STUDIO_BUDGET },
      // Pays in the studio's Try, so that it works at once.
      { id: VISITOR, key: KEYS.visitor, budget: "20" },
    ],
    billing: {
      model_details: {
        "seedream-5-0-pro-260628": {
          pricing_mode: "per-request",
          image_prices: [{ up_to_pixels: 2_610_000, price: "0.3" }, { price: "0.6" }],
        },
        "seedream-5-0-flash-260915": { pricing_mode: "per-request", model_price: "0.12" },
        "seedream-5-0-lite-260128": { pricing_mode: "per-request", model_price: "0.22", decimal_places: 2 },
        "seedream-4-5-251128": { pricing_mode: "per-request", model_price: "0.25" },
        "seedream-4-0-250828": { pricing_mode: "per-token", output_token_price: "12.2" },
        "image-2.0-pro": { pricing_mode: "per-request", model_price: "0.5" },
        "gpt-image-2": { pricing_mode: "per-token", output_token_price: "30", input_token_price: "5" },
        "flux-2-pro": { pricing_mode: "per-request", model_price: "0.05" },
      },
      group_ratio: { default: "1", vip: "0.8" },
    },
  };
}
