import type { Usage } from "../../types.js";
import { isJsonObject } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import type { UpstreamFailure } from "../failure.js";
import { type Tiers, toRatio } from "../fields/write-input.js";
import { createCodeTable, readCost } from "../shared.js";
import { createService, type Service } from "./service.js";

const RATIOS = ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "2:1", "1:2", "20:9", "9:20"];
const TIERS: Tiers = [
  [1536 * 1536, "1k"],
  [Number.POSITIVE_INFINITY, "2k"],
];

/** xAI. Source: docs.x.ai and `@ai-sdk/xai` 5.0.12, November 2026. */
export const XAI_SERVICE: Service = {
  baseUrl: "https://api.x.ai/v1",
  delivers: ["url", "b64_json"],
  responseFormats: { url: "url", b64_json: "b64_json" },
  size: toRatio(RATIOS, TIERS),
  references: (images) => {
    const written = images.map((image) => ({ url: image, type: "image_url" }));
    return written.length === 1 ? { image: written[0] } : { images: written };
  },
  referencesPath: "/images/edits",
  drops: [
    "background",
    "complexity",
    "frame_count",
    "frame_duration_ms",
    "input_fidelity",
    "moderation",
    "output_compression",
    "output_format",
    "safety_identifier",
    "seed",
    "style",
    "svg",
  ],
  safe: "respect_moderation",
  response: { readUsage: readTicks },
  codes: createCodeTable(),
};

const PLAIN = createService(XAI_SERVICE);

/** xAI reports a cost in place of tokens. */
export const XAI: Partial<Dialect> = {
  ...PLAIN,
  reportsCost: true,
  toFailure(response) {
    const failure = PLAIN.toFailure(response);
    return { ...failure, ...findQuota(failure) };
  },
};

/** Used-up credits and reached limits have the same code. Only the message tells them apart. */
function findQuota({ kind, message = "" }: UpstreamFailure): Partial<UpstreamFailure> {
  return kind === "rate" && /credits|spending limit/i.test(message) ? { kind: "quota" } : {};
}

/** A tick is a ten-billionth of a dollar. */
const TICK_PLACES = 10;

function readTicks(usage: unknown): Usage | undefined {
  const cost = isJsonObject(usage) ? readCost(usage["cost_in_usd_ticks"], TICK_PLACES) : undefined;
  return cost === undefined ? undefined : { cost_usd: cost };
}
