import { jsonResponse } from "../http/responses.js";
import { parsePixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { randomSeed } from "../random.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { siliconflowErrors } from "./error-tables.js";
import { listOf, readInputImages } from "./input-images.js";
import { makeImages } from "./make-images.js";

/** What one model takes: images per call, and whether it has `image_size` and needs an image. */
const models: Readonly<Record<string, { maxImages: number; isEdit: boolean }>> = {
  "Kwai-Kolors/Kolors": { maxImages: 4, isEdit: false },
  "Qwen/Qwen-Image": { maxImages: 1, isEdit: false },
  "Qwen/Qwen-Image-Edit": { maxImages: 1, isEdit: true },
  "Qwen/Qwen-Image-Edit-2509": { maxImages: 1, isEdit: true },
};
const code = "20015";

/** SiliconFlow: `image_size` and `batch_size`, links of one hour in `images`, and errors with numbers. */
export const siliconflow = createDialect({
  name: "siliconflow",
  basePath: "/siliconflow/v1/",
  errors: siliconflowErrors,
  codes: { wrongKey: "20001", invalid: code, server: "50501" },
  operations: [{ kind: "generation", method: "POST", path: /^images\/generations$/, respond }],
  describeError: ({ code: name, message }) => ({ code: Number(name), message, data: null }),
  requestIdHeader: "x-siliconcloud-trace-id",
});

async function respond(call: ProviderCall, services: Services): Promise<Response> {
  const startedAt = performance.now();
  const fields = readFields(call.body, { refuse: fieldRefuser(code) });
  const name = fields.requiredText("model");
  const model = models[name];
  if (model === undefined) throw new Refusal({ code: "20012" });
  const prompt = fields.requiredText("prompt");
  moderate(prompt, "20021");
  const { image, image2, image3 } = call.body;
  const sources = [image, image2, image3].flatMap(listOf);
  if (model.isEdit && sources.length === 0) throw new Refusal({ code, message: "image is required" });
  for (const [field, max] of [
    ["num_inference_steps", 100],
    ["guidance_scale", 20],
    ["cfg", 20],
  ] as const) {
    fields.number(field, 0, max);
  }
  const seed = fields.integer("seed", 0, 9_999_999_999) ?? randomSeed(services.random);
  const images = await makeImages(
    {
      provider: "siliconflow",
      model: name,
      prompt,
      n: fields.integer("batch_size", 1, model.maxImages) ?? 1,
      size: readSize(fields, model.isEdit),
      format: "png",
      seed,
      references: await readInputImages(sources, { call, services, code }),
      deliver: "url",
      failureCode: "20021",
    },
    { call, services },
  );
  const inference = Number(((performance.now() - startedAt) / 1000).toFixed(3));
  return jsonResponse({ images, timings: { inference }, seed });
}

/** Edit models have no `image_size`. */
function readSize(fields: Fields, isEdit: boolean) {
  const text = fields.text("image_size");
  if (isEdit || text === undefined) return { width: 1024, height: 1024 };
  const size = parsePixelSize(text, "x");
  if (size === undefined) throw new Refusal({ code, message: "image_size must be <width>x<height>" });
  return size;
}
