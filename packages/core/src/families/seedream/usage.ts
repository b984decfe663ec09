import type { Usage } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import { readCount } from "../read-values.js";

const COUNTS = ["generated_images", "output_tokens", "total_tokens"] as const;

/** The counts that Ark reported; empty when it reported none that can be used. */
export function readSeedreamUsage(reported: JsonObject): Usage {
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = {};
  for (const name of COUNTS) {
    const count = readCount(reported[name]);
    if (count !== undefined) usage[name] = count;
  }
  return usage;
}
