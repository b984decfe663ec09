import type { ResultError, Usage } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { ResponseShape } from "../response-shape.js";
import { isSuccessCode, readCount, readText } from "../shared.js";
import { type Codes, readError, toReportedFailure } from "./failure.js";

/** Which of the tokens and costs a response reports. `undefined` if it reports nothing. */
export type ReadUsage = (usage: unknown) => Usage | undefined;

/** How to read a response of OpenAI, also while it is relayed. It has no `model`, and the client gets none. */
export function createShape(codes: Codes, different: Partial<ResponseShape> = {}): ResponseShape {
  return {
    model: "model",
    addsModel: false,
    created: "created",
    items: "data",
    usage: "usage",
    countsItems: true,
    ofAllImages: ["size", "quality"],
    failure: "error",
    readItem,
    readUsage: readTokens,
    readFailure: (failure) =>
      failure && !(isJsonObject(failure) && isSuccessCode(failure["code"]))
        ? toReportedFailure(codes, { error: failure })
        : undefined,
    readCreated: readCount,
    ...different,
  };
}

/** An item of `data`: an image, or the reason why it is not one. */
export function readItem(item: unknown, index: number): "image" | ResultError {
  if (!isJsonObject(item)) return { index, ...NO_IMAGE };
  if ((readText(item["url"]) ?? readText(item["b64_json"])) !== undefined) return "image";
  const { code, message } = isJsonObject(item["error"]) ? readError(item) : {};
  return { index, code: code ?? NO_IMAGE.code, message: message ?? NO_IMAGE.message };
}

const NO_IMAGE = {
  code: "upstream_no_image",
  message: "The provider made no image and gave no reason.",
};

/**
 * The tokens that OpenAI reports. The details of the output may be missing; then all of it is images. Cached tokens are
 * taken off the prompt first, because prompts have the lower price: nothing is charged too little.
 * `cached_tokens` is not in OpenAI's types; other gateways expect it there.
 */
export function readTokens(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const input = readCount(usage["input_tokens"]);
  const output = readCount(usage["output_tokens"]);
  const total = readCount(usage["total_tokens"]) ?? (input ?? 0) + (output ?? 0);
  // Some servers always report zeros.
  if (total === 0 && !output && !input) return undefined;
  return {
    ...(output !== undefined && { output_tokens: output, ...readOutputKinds(usage, output) }),
    total_tokens: total,
    ...readInputKinds(usage),
  };
}

function readOutputKinds({ output_tokens_details: details }: JsonObject, output: number): Usage {
  if (!isJsonObject(details)) return { output_image_tokens: output };
  return withCounts({
    output_image_tokens: readCount(details["image_tokens"]),
    output_text_tokens: readCount(details["text_tokens"]),
  });
}

function readInputKinds({ input_tokens_details: details }: JsonObject): Usage {
  if (!isJsonObject(details)) return {};
  const text = readCount(details["text_tokens"]);
  const image = readCount(details["image_tokens"]);
  const cached = readCount(details["cached_tokens"]);
  const ofText = Math.min(text ?? 0, cached ?? 0);
  const ofImage = Math.min(image ?? 0, (cached ?? 0) - ofText);
  return withCounts({
    input_text_tokens: text && text - ofText,
    input_image_tokens: image && image - ofImage,
    cached_input_tokens: cached,
  });
}

/** Without the counts that were not reported. */
export function withCounts(counts: { readonly [Name in keyof Usage]?: Usage[Name] | undefined }): Usage {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
}
