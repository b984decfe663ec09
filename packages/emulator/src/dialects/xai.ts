import { applyUsageFault } from "../faults/apply-usage-fault.js";
import type { Fault } from "../faults/fault.js";
import { jsonResponse } from "../http/responses.js";
import { isJsonObject } from "../json.js";
import { parseRatio, sizeOfRatio } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { xaiErrors } from "./error-tables.js";
import { listOf, readInputImages } from "./input-images.js";
import { makeImages } from "./make-images.js";

/** USD per image at 1k and at 2k. Published by resellers; the price of an input image is the emulator's choice. */
const prices: Readonly<Record<string, readonly [number, number]>> = {
  "grok-imagine-image": [0.02, 0.02],
  "grok-imagine-image-quality": [0.05, 0.07],
  "grok-imagine-image-2.0": [0.04, 0.08],
};
const pricePerInput = 0.002;
const ticksPerDollar = 10_000_000_000;

const code = "invalid_argument";
const maxInputs = 3;
const ratios = [
  "1:1",
  "16:9",
  "9:16",
  "4:3",
  "3:4",
  "3:2",
  "2:3",
  "2:1",
  "1:2",
  "20:9",
  "9:20",
  "auto",
] as const;
const pixelsOf = { "1k": 1024 * 1024, "1.5k": 1536 * 1536, "2k": 2048 * 2048 } as const;

/** xAI: sizes by ratio and resolution, links by default, edits as JSON, and the cost instead of tokens. */
export const xai = createDialect({
  name: "xai",
  basePath: "/xai/v1/",
  errors: xaiErrors,
  codes: { wrongKey: "unauthenticated", invalid: code, server: "internal" },
  operations: [
    { kind: "generation", method: "POST", path: /^images\/generations$/, respond: respondTo("generation") },
    { kind: "edit", method: "POST", path: /^images\/edits$/, respond: respondTo("edit") },
  ],
  describeError: (error) => ({ code: error.code, error: error.message }),
});

function respondTo(operation: "generation" | "edit") {
  return async (call: ProviderCall, services: Services): Promise<Response> => {
    const fields = readFields(call.body, { refuse: fieldRefuser(code) });
    for (const name of ["size", "seed", "mask", "style"]) {
      if (fields.has(name)) throw new Refusal({ code, message: `Argument not supported: ${name}` });
    }
    const prompt = fields.requiredText("prompt");
    const model = readModel(fields);
    const resolution = fields.choice("resolution", ["1k", "1.5k", "2k"]) ?? "1k";
    fields.choice("quality", ["low", "medium", "high"]);
    const n = fields.integer("n", 1, 10) ?? 1;
    const deliver = fields.choice("response_format", ["url", "b64_json"]) ?? "url";
    const ratio = fields.choice("aspect_ratio", ratios);
    const references = operation === "edit" ? await readImages(call, services) : [];
    moderate(prompt, "content_moderated");

    const [last] = references.slice(-1);
    const chosen = parseRatio(ratio) ?? (last === undefined ? 1 : last.width / last.height);
    const size = sizeOfRatio(chosen, { pixels: pixelsOf[resolution], step: 16 });
    const plan = {
      provider: "xai",
      model,
      prompt,
      n,
      size,
      format: "jpeg",
      references,
      deliver,
      failureCode: "content_moderated",
    } as const;
    const failed = indexesWithoutCode(call.fault);
    const images = await makeImages(plan, { call: { ...call, fault: withoutThese(call.fault) }, services });
    const price = prices[model]?.[resolution === "1k" ? 0 : 1] ?? 0;
    const cost = price * images.length + pricePerInput * references.length;
    return jsonResponse({
      data: images.map((image, index) =>
        failed.has(index)
          ? { url: "", mime_type: "", respect_moderation: false }
          : { ...image, mime_type: "image/jpeg", respect_moderation: true },
      ),
      ...applyUsageFault({ cost_in_usd_ticks: Math.round(cost * ticksPerDollar) }, call.fault),
    });
  };
}

/** An image that a fault makes fail without a code is in the response, but was moderated. */
function indexesWithoutCode({ failImages = [] }: Fault): ReadonlySet<number> {
  return new Set(failImages.filter(({ code: given }) => given === undefined).map(({ index }) => index));
}

function withoutThese(fault: Fault): Fault {
  const { failImages = [], ...rest } = fault;
  return { ...rest, failImages: failImages.filter(({ code: given }) => given !== undefined) };
}

function readModel(fields: Fields): string {
  const model = fields.requiredText("model");
  if (prices[model] === undefined) {
    throw new Refusal({
      code: "not_found",
      message: `The model ${model} does not exist or your team has no access to it.`,
    });
  }
  return model;
}

/** `image: { url, type: "image_url" }`, or `images` with a list of them. */
async function readImages(call: ProviderCall, services: Services) {
  const { image, images } = call.body;
  const sources = [...listOf(image), ...listOf(images)].map((source) =>
    isJsonObject(source) ? source.url : undefined,
  );
  if (sources.length === 0) throw new Refusal({ code, message: "image is required" });
  if (sources.length > maxInputs)
    throw new Refusal({ code, message: `At most ${maxInputs} images are supported.` });
  return readInputImages(sources, { call, services, code });
}
