import { jsonResponse } from "../http/responses.js";
import { type PixelSize, parsePixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { zhipuErrors } from "./error-tables.js";
import { makeImages } from "./make-images.js";

interface ZhipuModel {
  readonly names: RegExp;
  readonly usualSize: PixelSize;
  readonly step: number;
  readonly minSide: number;
  readonly maxPixels: number;
  readonly qualities: readonly ("hd" | "standard")[];
}

const models: readonly ZhipuModel[] = [
  {
    names: /^glm-image$/,
    usualSize: { width: 1280, height: 1280 },
    step: 32,
    minSide: 1024,
    maxPixels: 2 ** 22,
    qualities: ["hd"],
  },
  {
    names: /^cogview-(?:4(?:-\d{6})?|3-flash)$/,
    usualSize: { width: 1024, height: 1024 },
    step: 16,
    minSide: 512,
    maxPixels: 2 ** 21,
    qualities: ["hd", "standard"],
  },
];
const maxSide = 2048;
const code = "1214";

/** Zhipu: one image per call, links of 30 days, a watermark unless `watermark_enabled` is false. */
export const zhipu = createDialect({
  name: "zhipu",
  basePath: "/zhipu/api/paas/v4/",
  errors: zhipuErrors,
  codes: { wrongKey: "1000", invalid: code, server: "500" },
  operations: [{ kind: "generation", method: "POST", path: /^images\/generations$/, respond }],
  describeError: ({ code: name, message }) => ({ error: { code: name, message } }),
});

async function respond(call: ProviderCall, services: Services): Promise<Response> {
  const fields = readFields(call.body, { refuse: fieldRefuser(code) });
  const name = fields.requiredText("model");
  const model = models.find(({ names }) => names.test(name));
  if (model === undefined) throw new Refusal({ code: "1211" });
  const prompt = fields.requiredText("prompt");
  moderate(prompt, "1301");
  fields.choice("quality", model.qualities);
  const data = await makeImages(
    {
      provider: "zhipu",
      model: name,
      prompt,
      n: 1, // the API has no field for more
      size: readSize(fields.text("size"), model),
      format: "png",
      watermark: (fields.boolean("watermark_enabled") ?? true) ? "AI生成" : undefined,
      deliver: "url",
      failureCode: "1301",
    },
    { call, services },
  );
  const created = Math.floor(services.settings.now() / 1000);
  return jsonResponse({ created, data, content_filter: [{ role: "assistant", level: 3 }] });
}

function readSize(text: string | undefined, { usualSize, step, minSide, maxPixels }: ZhipuModel): PixelSize {
  if (text === undefined) return usualSize;
  const size = parsePixelSize(text, "x");
  const sides = size === undefined ? [] : [size.width, size.height];
  const fits = sides.every((side) => side >= minSide && side <= maxSide && side % step === 0);
  if (size !== undefined && fits && size.width * size.height <= maxPixels) return size;
  const message = `size: each side must be from ${minSide} to ${maxSide} and divisible by ${step}, with at most ${maxPixels} pixels`;
  throw new Refusal({ code, message });
}
