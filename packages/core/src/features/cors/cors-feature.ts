import type { Feature } from "../../kernel/feature.js";
import { checkFeatureOptions } from "../../options/problems.js";
import { type CorsOptions, createCors } from "./cors.js";
import { corsSchema } from "./cors-schema.js";

/** Web pages of other origins may call the gateway from a browser. */
export function cors(options: CorsOptions): Feature {
  return {
    name: "cors",
    setup() {
      checkFeatureOptions(corsSchema, options);
      return { cors: createCors(options) };
    },
  };
}
