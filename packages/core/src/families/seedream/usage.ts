import type { Usage } from "../../image-request.js";
import type { JsonObject } from "../../json.js";
import { readCount } from "../read-values.js";

/** The counts that Ark reported; empty when it reported none that can be used. */
export function readSeedreamUsage(reported: JsonObject): Usage {
  return Object.fromEntries(
    ["generated_images", "output_tokens", "total_tokens"]
      .map((name) => [name, readCount(reported[name])] as const)
      .filter(([, count]) => count !== undefined),
  );
}
