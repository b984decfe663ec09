import type { Dialect } from "../dialect.js";
import { createCodeTable } from "../shared.js";
import { readTokens } from "./response.js";
import { createService, type Service } from "./service.js";
import { OPENAI_ONLY } from "./services.js";

/** The types of MiniMax's errors, and its own numbers, which are at the end of a message: `insufficient balance (1008)`. */
const CODES = createCodeTable(
  [{ kind: "content" }, "1026", "1027", "2013"],
  [{ kind: "credential" }, "authorized_error", "authentication_error", "1004", "2049"],
  [{ kind: "quota" }, "insufficient_balance_error", "1008", "2056"],
  [{ kind: "rate" }, "rate_limit_error", "1002", "1039"],
  [{ kind: "overload" }, "overloaded_error", "2064"],
  [{ kind: "server" }, "api_error", "1000", "1013"],
);

/**
 * MiniMax's H3-Image. Sources: docs.comfy.org (the schema of minimax-h3-image), apidog.com and openrouter.ai, November 2026.
 * Second-hand: the names of `images[].image_url` and `response_format`, and that tokens have OpenAI's names.
 */
export const MINIMAX_SERVICE: Service = {
  baseUrl: "https://api.minimax.io/v1",
  delivers: ["url", "b64_json"],
  responseFormats: { url: "url", b64_json: "b64_json" },
  references: (images) => ({ images: images.map((image) => ({ image_url: image })) }),
  referencesPath: "/images/edits",
  drops: [...OPENAI_ONLY.filter((field) => field !== "output_compression"), "quality", "seed", "user"],
  response: { readUsage: readTokens },
  codes: CODES,
};

const PLAIN = createService(MINIMAX_SERVICE);

export const MINIMAX: Partial<Dialect> = {
  ...PLAIN,
  reportsTokens: true,
  toFailure(response) {
    const failure = PLAIN.toFailure(response);
    const [, number = ""] = /\((\d{4})\)/.exec(failure.message ?? "") ?? [];
    const meaning = CODES.get(number);
    // A failure of the server is known by its status.
    return meaning === undefined || meaning.kind === "server" ? failure : { ...failure, ...meaning };
  },
};
