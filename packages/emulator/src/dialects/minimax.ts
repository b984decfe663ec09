import { applyUsageFault } from "../faults/apply-usage-fault.js";
import { jsonResponse } from "../http/responses.js";
import { isJsonObject } from "../json.js";
import { type PixelSize, parsePixelSize, parseRatio, sideRatioOf, sizeOfRatio } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { countTextTokens } from "../text-tokens.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { minimaxErrors } from "./error-tables.js";
import { listOf, readInputImages } from "./input-images.js";
import { makeImages } from "./make-images.js";

const code = "invalid_params";
const models: ReadonlySet<string> = new Set(["MiniMax-H3-Image", "MiniMax-H3-Image-Highspeed"]);
const maxInputs = 16;
const minPixels = 655_360;
const maxPixels = 20_000_000;
const pixelsOf = { "1K": 1024 * 1024, "2K": 2048 * 2048, "4K": 4096 * 4096 } as const;
/** The tokens of an image are the emulator's choice: one for each 1,024 pixels. */
const pixelsPerToken = 1024;

/** MiniMax's H3-Image: sizes or ratio and area, 4K by default, edits as JSON, tokens with OpenAI's names. */
export const minimax = createDialect({
  name: "minimax",
  basePath: "/minimax/v1/",
  errors: minimaxErrors,
  codes: { wrongKey: "login_fail", invalid: code, server: "internal_error" },
  operations: [
    { kind: "generation", method: "POST", path: /^images\/generations$/, respond: respondTo("generation") },
    { kind: "edit", method: "POST", path: /^images\/edits$/, respond: respondTo("edit") },
  ],
  describeError: ({ status, message, type }, requestId) => ({
    type: "error",
    error: { type, message, http_code: String(status) },
    request_id: requestId,
  }),
});

function respondTo(operation: "generation" | "edit") {
  return async (call: ProviderCall, services: Services): Promise<Response> => {
    const fields = readFields(call.body, { refuse: fieldRefuser(code) });
    const model = fields.requiredText("model");
    if (!models.has(model)) throw new Refusal({ code: "unknown_model" });
    const prompt = fields.requiredText("prompt");
    moderate(prompt, "sensitive");
    const references = operation === "edit" ? await readImages(call, services) : [];
    const size = readSize(fields);
    const n = fields.integer("n", 1, 10) ?? 1;
    fields.integer("output_compression", 0, 100);
    const format = fields.choice("output_format", ["jpg", "jpeg", "png", "webp"]) ?? "jpg";
    const data = await makeImages(
      {
        provider: "minimax",
        model,
        prompt,
        n,
        size,
        format: format === "jpg" ? "jpeg" : format,
        references,
        deliver: fields.choice("response_format", ["url", "b64_json"]) ?? "url",
        failureCode: "sensitive",
      },
      { call, services },
    );
    const usage = countUsage({ prompt, references, size, n: data.length });
    const created = Math.floor(services.settings.now() / 1000);
    return jsonResponse({ created, data, ...applyUsageFault(usage, call.fault) });
  };
}

/** The input is counted once for each image. */
function countUsage({
  prompt,
  references,
  size,
  n,
}: {
  readonly prompt: string;
  readonly references: readonly PixelSize[];
  readonly size: PixelSize;
  readonly n: number;
}) {
  const text = n * countTextTokens(prompt);
  const image = n * references.reduce((sum, reference) => sum + tokensOf(reference), 0);
  const output = n * tokensOf(size);
  return {
    input_tokens: text + image,
    input_tokens_details: { text_tokens: text, image_tokens: image },
    output_tokens: output,
    total_tokens: text + image + output,
  };
}

const tokensOf = ({ width, height }: PixelSize): number => Math.ceil((width * height) / pixelsPerToken);

function readSize(fields: Fields): PixelSize {
  const text = fields.text("size");
  const area = fields.choice("area", ["1K", "2K", "4K"]) ?? "4K";
  const ratio = fields.text("aspect_ratio");
  if (text === undefined || text === "auto") {
    return sizeOfRatio(parseRatio(ratio) ?? 1, { pixels: pixelsOf[area], step: 16 });
  }
  const size = parsePixelSize(text, "x");
  const pixels = size === undefined ? 0 : size.width * size.height;
  if (size === undefined || pixels < minPixels || pixels > maxPixels || sideRatioOf(size) > 3) {
    throw new Refusal({
      code,
      message: `invalid params, size ${text} is not supported (2013)`,
      param: "size",
    });
  }
  if (ratio !== undefined || fields.has("area")) {
    throw new Refusal({
      code,
      message: "invalid params, size cannot be combined with aspect_ratio or area (2013)",
    });
  }
  return size;
}

/** `images: [{ image_url }]`. */
async function readImages(call: ProviderCall, services: Services) {
  const sources = listOf(call.body.images).map((source) =>
    isJsonObject(source) ? source.image_url : undefined,
  );
  if (sources.length === 0 || sources.length > maxInputs) {
    throw new Refusal({ code, message: `invalid params, images must be 1 to ${maxInputs} (2013)` });
  }
  return readInputImages(sources, { call, services, code });
}
