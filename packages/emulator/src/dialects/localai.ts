import { jsonResponse } from "../http/responses.js";
import { type PixelSize, parsePixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser } from "./create-dialect.js";
import { localaiErrors } from "./error-tables.js";
import { listOf, readFiles, readInputImages } from "./input-images.js";
import { type ImagePlan, makeImages } from "./make-images.js";

const code = "invalid_image_request";

/** LocalAI: links to its own host by default, `usage` of zeros, inpainting instead of edits. It needs no key. */
export const localai = createDialect({
  name: "localai",
  basePath: "/localai/v1/",
  errors: localaiErrors,
  codes: { wrongKey: "unauthorized_key", invalid: code, server: "backend_failed" },
  operations: [
    { kind: "generation", method: "POST", path: /^images\/generations$/, respond: generate },
    { kind: "edit", method: "POST", path: /^images\/inpainting$/, body: "form", respond: inpaint },
  ],
  describeError: ({ status, message }) => ({ error: { code: status, message, type: "" } }),
  needsKey: false,
});

async function generate(call: ProviderCall, services: Services): Promise<Response> {
  const fields = readFields(call.body, { refuse: fieldRefuser(code) });
  const sources = ["file", "files", "ref_images"].flatMap((name) => listOf(call.body[name]));
  const references = await readInputImages(sources, { call, services, code, takesBareBase64: true });
  return respond({ ...readPlan(fields), references }, call, services);
}

/** A form with the files `image` and `mask`. */
async function inpaint(call: ProviderCall, services: Services): Promise<Response> {
  const fields = readFields(call.body, { isForm: true, refuse: fieldRefuser(code) });
  const [images, masks] = await Promise.all([
    readFiles(call, ["image"], code),
    readFiles(call, ["mask"], code),
  ]);
  if (images.length === 0 || masks.length === 0) {
    throw new Refusal({ code, message: "The files image and mask are required." });
  }
  return respond({ ...readPlan(fields), references: [...images, ...masks] }, call, services);
}

function readPlan(fields: Fields): ImagePlan {
  fields.integer("step", 1, 1000);
  const [prompt = ""] = fields.requiredText("prompt").split("|"); // the negative prompt is after the bar
  return {
    provider: "localai",
    model: fields.text("model") ?? "stablediffusion",
    prompt,
    n: fields.integer("n", 1, 100) ?? 1,
    size: readSize(fields.text("size")),
    format: "png",
    seed: fields.integer("seed", 0, 2 ** 31 - 1),
    deliver: fields.text("response_format") === "b64_json" ? "b64_json" : "url",
    failureCode: "backend_failed",
  };
}

function readSize(text = "512x512"): PixelSize {
  const size = parsePixelSize(text, "x");
  if (size === undefined) throw new Refusal({ code, message: "invalid value for 'size'" });
  return size;
}

async function respond(plan: ImagePlan, call: ProviderCall, services: Services): Promise<Response> {
  const images = await makeImages(plan, { call, services });
  return jsonResponse({
    created: Math.floor(services.settings.now() / 1000),
    id: call.requestId,
    data: images.map((image) => ({ embedding: null, index: 0, ...image })),
    usage: {
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      input_tokens: 0,
      output_tokens: 0,
      input_tokens_details: { text_tokens: 0, image_tokens: 0 },
    },
  });
}
