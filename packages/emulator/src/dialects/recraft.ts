import { jsonResponse } from "../http/responses.js";
import { type PixelSize, parsePixelSize, parseRatio, sizeOfRatio } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { recraftErrors } from "./error-tables.js";
import { readFiles, readInputImages } from "./input-images.js";
import { makeImages } from "./make-images.js";

const code = "invalid_request";

/** The price of an image in API units, which are thousandths of a dollar (recraft.ai, pricing), by what the name ends with. */
const unitsOf: readonly (readonly [RegExp, number])[] = [
  [/_pro_vector$/, 300],
  [/_vector$/, 80],
  [/_pro$/, 210],
  [/_flash(?:_v2)?$/, 7],
  [/^recraftv4_1(?:_utility)?$/, 35],
  [/^recraftv[34](?:_styles)?$/, 40],
  [/^recraftv2$/, 22],
];

/** Recraft: links by default, one image of an edit in `image_url` or as a file, the cost in `credits`. */
export const recraft = createDialect({
  name: "recraft",
  basePath: "/recraft/v1/",
  errors: recraftErrors,
  codes: { wrongKey: "unauthorized", invalid: code, server: "internal_error" },
  operations: [
    { kind: "generation", method: "POST", path: /^images\/generations$/, respond: respondTo("generation") },
    {
      kind: "edit",
      method: "POST",
      path: /^images\/imageToImage$/,
      body: "json-or-form",
      respond: respondTo("edit"),
    },
  ],
  describeError: ({ code: name, message }) => ({ code: name, message }),
});

function respondTo(operation: "generation" | "edit") {
  return async (call: ProviderCall, services: Services): Promise<Response> => {
    const isForm = call.files !== undefined;
    const fields = readFields(call.body, { isForm, refuse: fieldRefuser(code) });
    const prompt = fields.requiredText("prompt");
    const model = fields.text("model") ?? "recraftv4_1";
    const units = unitsOf.find(([name]) => name.test(model))?.[1];
    if (units === undefined || !model.startsWith("recraftv")) throw new Refusal({ code: "model_not_found" });
    if (model.includes("_styles") && !fields.has("style_id"))
      throw new Refusal({ code, message: "style_id is required" });
    moderate(prompt, "content_policy");
    const data = await makeImages(
      {
        provider: "recraft",
        model,
        prompt,
        n: fields.integer("n", 1, 6) ?? 1,
        size: readSize(fields, /_pro(?:_|$)/.test(model) ? 2048 : 1024),
        format: model.endsWith("_vector") ? "svg" : "png",
        seed: fields.integer("random_seed", 0, 2 ** 32),
        references: operation === "edit" ? await readImage(fields, call, services) : [],
        deliver: fields.choice("response_format", ["url", "b64_json"]) ?? "url",
        failureCode: "content_policy",
      },
      { call, services },
    );
    const created = Math.floor(services.settings.now() / 1000);
    const hasCredits = call.fault.omitUsage !== true;
    return jsonResponse({ created, ...(hasCredits && { credits: units * data.length }), data });
  };
}

function readSize(fields: Fields, side: number): PixelSize {
  const text = fields.text("size");
  if (text === undefined) return { width: side, height: side };
  const ratio = parseRatio(text);
  const size =
    ratio === undefined ? parsePixelSize(text, "x") : sizeOfRatio(ratio, { pixels: side ** 2, step: 64 });
  if (size === undefined)
    throw new Refusal({ code, message: `size ${text} is not supported`, param: "size" });
  return size;
}

/** An edit has one image, and says how far it moves from it. */
async function readImage(fields: Fields, call: ProviderCall, services: Services) {
  if (fields.number("strength", 0, 1) === undefined)
    throw new Refusal({ code, message: "strength is required" });
  const url = fields.text("image_url");
  const images = [
    ...(await readFiles(call, ["image"], code)),
    ...(await readInputImages(url === undefined ? [] : [url], { call, services, code })),
  ];
  if (images.length !== 1) throw new Refusal({ code, message: "image or image_url is required" });
  return images;
}
