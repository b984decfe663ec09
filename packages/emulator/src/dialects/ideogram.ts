import type { Fault } from "../faults/fault.js";
import { readKeyHeader } from "../http/read-key.js";
import { jsonResponse } from "../http/responses.js";
import { type PixelSize, parsePixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { randomHex, randomSeed } from "../random.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { ideogramErrors } from "./error-tables.js";
import { readFiles } from "./input-images.js";
import { makeImages } from "./make-images.js";

const code = "invalid_request";
const maxInputs = 5;
const qualities = ["very_low", "low", "medium", "high"] as const;
/** Millionths of a dollar for an image (ideogram.ai, API pricing). */
const prices = { very_low: 8_000, low: 30_000, medium: 60_000, high: 100_000 } as const;

/** Ideogram 4.5: the model in the path, `Api-Key`, links, edits as a form with `images`, and what is safe beside each image. */
export const ideogram = createDialect({
  name: "ideogram",
  basePath: "/ideogram/v2/",
  errors: ideogramErrors,
  codes: { wrongKey: "unauthorized", invalid: code, server: "internal_error" },
  operations: [
    {
      kind: "generation",
      method: "POST",
      path: /^image\/generate\/(?<model>[^/]+)$/,
      body: "json-or-form",
      respond,
    },
  ],
  readKey: (request) => readKeyHeader(request, "api-key"),
  describeError: ({ code: name, message }) => ({ error: message, reject_reason: name }),
});

async function respond(call: ProviderCall, services: Services): Promise<Response> {
  const { model = "" } = call.params;
  if (model !== "ideogram-4-5") throw new Refusal({ code: "not_found" });
  const fields = readFields(call.body, { isForm: call.files !== undefined, refuse: fieldRefuser(code) });
  const prompt = fields.requiredText("prompt", 10_000);
  moderate(prompt, "content_policy_violation");
  const references = await readFiles(call, ["images"], code);
  if (references.length > maxInputs) throw new Refusal({ code, message: `images: at most ${maxInputs}` });
  const quality = fields.choice("quality", qualities) ?? (references.length > 0 ? "medium" : "high");
  if (quality === "very_low" && references.length === 0)
    throw new Refusal({ code, message: "quality very_low needs source images" });
  const size = readSize(fields);
  const seed = fields.integer("seed", 0, 2_147_483_647) ?? randomSeed(services.random);
  const heldBack = indexesWithoutCode(call.fault);
  const images = await makeImages(
    {
      provider: "ideogram",
      model,
      prompt,
      n: fields.integer("num_images", 1, 8) ?? 1,
      size,
      format: "png",
      seed,
      references,
      deliver: "url",
      failureCode: "content_policy_violation",
    },
    { call: { ...call, fault: withoutThese(call.fault) }, services },
  );
  const data = images.map((image, index) => ({
    object_type: "image.generation",
    url: "url" in image && !heldBack.has(index) ? image.url : null,
    prompt,
    resolution: `${size.width}x${size.height}`,
    is_image_safe: !heldBack.has(index),
    seed: seed + index,
  }));
  const cost = call.fault.omitUsage === true ? {} : { usage_cost_usd_micros: prices[quality] * data.length };
  const created = new Date(services.settings.now()).toISOString();
  return jsonResponse({ generation_id: randomHex(services.random, 22), created, data, seed, ...cost });
}

/** Images that a fault makes fail without a code are in the response, but were held back. */
function indexesWithoutCode({ failImages = [] }: Fault): ReadonlySet<number> {
  return new Set(failImages.filter(({ code: given }) => given === undefined).map(({ index }) => index));
}

function withoutThese(fault: Fault): Fault {
  const { failImages = [], ...rest } = fault;
  return { ...rest, failImages: failImages.filter(({ code: given }) => given !== undefined) };
}

function readSize(fields: Fields): PixelSize {
  const text = fields.text("size");
  if (text === undefined || text === "auto") return { width: 2048, height: 2048 };
  const size = parsePixelSize(text, "x");
  if (size === undefined || size.width * size.height > 2048 ** 2)
    throw new Refusal({ code, message: `size ${text} is not supported`, param: "size" });
  return size;
}
