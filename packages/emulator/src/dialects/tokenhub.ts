import { jsonResponse } from "../http/responses.js";
import { type PixelSize, parsePixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { randomHex } from "../random.js";
import { readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { tokenhubErrors } from "./error-tables.js";
import { listOf, readInputImages } from "./input-images.js";
import { makeImages } from "./make-images.js";

const code = "invalid_parameter";
const maxInputs = 3;
const minSide = 512;
const maxSide = 2048;
const maxPixels = 1024 * 1024;

/** Tencent TokenHub with Hunyuan Image 3.0: one image per call, links of 12 hours, up to three input images in `images`. */
export const tokenhub = createDialect({
  name: "tokenhub",
  basePath: "/tokenhub/v1/",
  errors: tokenhubErrors,
  codes: { wrongKey: "unauthorized", invalid: code, server: "internal_error" },
  operations: [{ kind: "generation", method: "POST", path: /^wand\/hunyuan-image\/v3-generation$/, respond }],
  describeError: ({ code: name, message }, requestId) => ({
    error: { code: name, message, request_id: requestId },
  }),
});

async function respond(call: ProviderCall, services: Services): Promise<Response> {
  const fields = readFields(call.body, { refuse: fieldRefuser(code) });
  const model = fields.requiredText("model");
  if (model !== "hy-image-v3") throw new Refusal({ code: "model_not_found" });
  const prompt = fields.requiredText("prompt", 8192);
  moderate(prompt, "content_filter");
  const sources = listOf(call.body.images);
  if (sources.length > maxInputs) throw new Refusal({ code, message: `images: at most ${maxInputs}` });
  fields.boolean("revise");
  const data = await makeImages(
    {
      provider: "tokenhub",
      model,
      prompt,
      n: 1, // the API makes one
      size: readSize(fields.text("size")),
      format: "png",
      watermark: fields.text("footnote", 16),
      seed: fields.integer("seed", 1, 2 ** 32),
      references: await readInputImages(sources, { call, services, code }),
      deliver: "url",
      failureCode: "content_filter",
    },
    { call, services },
  );
  const id = randomHex(services.random, 32);
  return jsonResponse({ request_id: id, created: Math.floor(services.settings.now() / 1000), data });
}

function readSize(text = "1024x1024"): PixelSize {
  const size = parsePixelSize(text, "x");
  const sides = size === undefined ? [] : [size.width, size.height];
  const fits = sides.every((side) => side >= minSide && side <= maxSide);
  if (size !== undefined && fits && size.width * size.height <= maxPixels) return size;
  throw new Refusal({
    code,
    message: `size: sides from ${minSide} to ${maxSide}, and at most ${maxPixels} pixels`,
    param: "size",
  });
}
