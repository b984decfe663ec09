import type { Feature } from "../../kernel/feature.js";
import { checkFeatureOptions } from "../../options/problems.js";
import { type CorsOptions, createCors } from "./cors.js";
import { corsSchema } from "./cors-schema.js";

/**
 * Web pages of other origins may call the gateway from a browser.
 *
 * @throws GatewayOptionsError
 */
export function cors(options: CorsOptions): Feature {
  checkFeatureOptions(corsSchema, options);
  return createCorsFeature(options);
}

/** @param options validated; `undefined`: only the headers that a page may read are named */
export function createCorsFeature(options: CorsOptions | undefined): Feature {
  return { name: "cors", setup: () => ({ cors: createCors(options) }) };
}
