import { mediaTypeOf } from "../drawing/recipe.js";
import { applyUsageFault } from "../faults/apply-usage-fault.js";
import { eventStream, jsonResponse } from "../http/responses.js";
import { isJsonObject } from "../json.js";
import { type PixelSize, parsePixelSize, parseRatio, sizeOfRatio } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { countTextTokens } from "../text-tokens.js";
import { createDialect, fieldRefuser, moderate, toDialectError } from "./create-dialect.js";
import { openrouterErrors } from "./error-tables.js";
import { listOf, readInputImages } from "./input-images.js";
import { type ImagePlan, makeImages } from "./make-images.js";

const code = "bad_request";
const codes = { wrongKey: "unauthorized", invalid: code, server: "internal_server_error" };
const knownFields = [
  "model",
  "prompt",
  "n",
  "size",
  "aspect_ratio",
  "resolution",
  "quality",
  "background",
  "output_format",
  "output_compression",
  "seed",
  "stream",
  "partial_images",
  "input_references",
  "provider",
  "user",
  "session_id",
] as const;
const sides = { "512": 512, "1K": 1024, "2K": 2048, "4K": 4096 } as const;
/** The emulator's choice, for every model. */
const [tokensPerImage, dollarsPerImage] = [1290, 0.04];

/** OpenRouter's own image endpoint: one path for generations and edits, base64 only, and the cost in dollars. */
export const openrouter = createDialect({
  name: "openrouter",
  basePath: "/openrouter/api/v1/",
  errors: openrouterErrors,
  codes,
  operations: [{ kind: "generation", method: "POST", path: /^images$/, respond }],
  describeError: ({ status, message, code: name }) => ({
    error: { code: status, message, metadata: { provider_name: "Emulator", raw: name } },
  }),
});

async function respond(call: ProviderCall, services: Services): Promise<Response> {
  const fields = readFields(call.body, { refuse: fieldRefuser(code) });
  fields.refuseUnknown(knownFields);
  const plan = await readPlan(fields, call, services);
  const isStream =
    call.fault.respondAs === undefined
      ? fields.boolean("stream") === true
      : call.fault.respondAs === "stream";
  if (isStream) return eventStream(writeEvents(plan, call, services), call.fault.stream);
  const images = await makeImages(plan, { call, services });
  return jsonResponse({
    created: seconds(services),
    data: images.map((image) => ({ ...image, media_type: mediaTypeOf(plan.format) })),
    ...applyUsageFault(countUsage(plan, images.length), call.fault),
  });
}

async function readPlan(fields: Fields, call: ProviderCall, services: Services): Promise<ImagePlan> {
  const model = fields.requiredText("model");
  if (!model.includes("/")) throw new Refusal({ code, message: `${model} is not a valid model ID` });
  const prompt = fields.requiredText("prompt");
  moderate(prompt, "moderation");
  const format = fields.choice("output_format", ["png", "jpeg", "webp"]) ?? "png";
  const isCutout = fields.choice("background", ["auto", "transparent", "opaque"]) === "transparent";
  fields.text("quality");
  fields.integer("partial_images", 0, 3);
  return {
    provider: "openrouter",
    model,
    prompt,
    n: fields.integer("n", 1, 10) ?? 1,
    size: readSize(fields),
    format,
    isCutout: isCutout && format !== "jpeg",
    seed: fields.integer("seed", 0, 2 ** 31 - 1),
    references: await readReferences(call, services),
    deliver: "b64_json",
    failureCode: "moderation",
  };
}

function readSize(fields: Fields): PixelSize {
  const size = parsePixelSize(fields.text("size"), "x");
  if (fields.has("size") && size === undefined)
    throw new Refusal({ code, message: "size must be <width>x<height>" });
  const resolution = fields.choice("resolution", ["512", "1K", "2K", "4K"]) ?? "1K";
  const ratio = parseRatio(fields.text("aspect_ratio"));
  if (fields.has("aspect_ratio") && ratio === undefined)
    throw new Refusal({ code, message: "aspect_ratio is invalid" });
  return size ?? sizeOfRatio(ratio ?? 1, { pixels: sides[resolution] ** 2, step: 16 });
}

async function readReferences(call: ProviderCall, services: Services) {
  const sources = listOf(call.body.input_references).map((item) => {
    const url = isJsonObject(item) && item.type === "image_url" ? item.image_url : undefined;
    return isJsonObject(url) ? url.url : undefined;
  });
  return readInputImages(sources, { call, services, code });
}

/** OpenAI's events, and one with the text of the model. */
async function* writeEvents(plan: ImagePlan, call: ProviderCall, services: Services): AsyncGenerator<string> {
  const { fault } = call;
  yield event("image_generation.text_chunk", { text: "Here is your image." });
  for (let made = 0; made < plan.n; made += 1) {
    if (made === fault.streamErrorAfterImages) return yield errorEvent(call);
    const images = await makeImages({ ...plan, n: 1, seed: (plan.seed ?? 0) + made }, { call, services });
    const fields = { ...images[0], media_type: mediaTypeOf(plan.format), created_at: seconds(services) };
    const times = images.length * (fault.stream?.completedEvents ?? 1);
    for (let count = 0; count < times; count += 1) {
      yield event("image_generation.completed", {
        ...fields,
        ...applyUsageFault(countUsage(plan, 1), fault),
      });
    }
  }
  if (plan.n === fault.streamErrorAfterImages) yield errorEvent(call);
  else if (fault.sendDone === true) yield "data: [DONE]\n\n";
}

function errorEvent({ fault }: ProviderCall): string {
  const { code: name = "bad_gateway", message = "", status } = fault;
  const error = toDialectError(
    { errors: openrouterErrors, codes },
    { code: name, message, status, type: undefined, param: "" },
  );
  return `event: error\ndata: ${JSON.stringify({ type: "error", error: { code: error.status, message: error.message } })}\n\n`;
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

function countUsage({ prompt }: ImagePlan, images: number) {
  const [input, output] = [countTextTokens(prompt), images * tokensPerImage];
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    completion_tokens_details: { image_tokens: output },
    cost: Number((images * dollarsPerImage).toFixed(6)),
  };
}

function seconds({ settings }: Services): number {
  return Math.floor(settings.now() / 1000);
}
