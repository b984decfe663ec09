import type { Usage } from "../../types.js";
import { isJsonObject } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import { createCodeTable, readCost, readCount } from "../shared.js";
import { withCounts } from "./response.js";
import { createService, type Service } from "./service.js";
import { createStreamReader, OPENAI_EVENTS } from "./stream.js";

/** OpenRouter's codes are statuses (openrouter.ai, November 2026). 403 is a refusal of the content. */
const CODES = createCodeTable(
  [{ kind: "content" }, "403"],
  [{ kind: "quota" }, "402"],
  [{ kind: "model" }, "404"],
  [{ kind: "rate", scope: "model" }, "429"],
  [{ kind: "overload" }, "503", "529"],
  [{ kind: "server" }, "500", "502", "524"],
);

/** OpenRouter. Source: `@openrouter/sdk` 1.3.19. It refuses fields that it does not know. */
export const OPENROUTER_SERVICE: Service = {
  baseUrl: "https://openrouter.ai/api/v1",
  path: "/images",
  delivers: ["b64_json"],
  references: (images) => ({
    input_references: images.map((image) => ({ type: "image_url", image_url: { url: image } })),
  }),
  drops: [
    "complexity",
    "frame_count",
    "frame_duration_ms",
    "input_fidelity",
    "moderation",
    "safety_identifier",
    "style",
    "svg",
  ],
  response: { readUsage: readOpenrouterUsage },
  streams: true,
  codes: CODES,
};

/** OpenRouter has one path, reports tokens and a cost, and streams OpenAI's events. */
export const OPENROUTER: Partial<Dialect> = {
  ...createService(OPENROUTER_SERVICE),
  reportsTokens: true,
  reportsCost: true,
  readStream: createStreamReader(CODES, readOpenrouterUsage),
  // OpenAI's names, but not its members, and also for edits the names of generations.
  streamShape: { ...OPENAI_EVENTS, format: "native" },
};

function readOpenrouterUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const output = readCount(usage["completion_tokens"]);
  const total = readCount(usage["total_tokens"]);
  const details = isJsonObject(usage["completion_tokens_details"]) ? usage["completion_tokens_details"] : {};
  const image = readCount(details["image_tokens"]);
  const hasTokens = (total ?? 0) + (output ?? 0) > 0;
  const read = withCounts({
    ...(hasTokens && {
      output_tokens: output,
      total_tokens: total,
      output_image_tokens: image,
      output_text_tokens:
        output !== undefined && image !== undefined ? Math.max(0, output - image) : undefined,
    }),
    cost_usd: readCost(usage["cost"]),
  });
  return Object.keys(read).length === 0 ? undefined : read;
}
