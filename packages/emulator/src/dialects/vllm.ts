import { jsonResponse } from "../http/responses.js";
import { type PixelSize, parsePixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect } from "./create-dialect.js";
import { vllmErrors } from "./error-tables.js";
import { listOf, readFiles, readInputImages } from "./input-images.js";
import { makeImages } from "./make-images.js";

/** vLLM-Omni: any model, base64 only, no usage, and FastAPI's errors. It needs no key. */
export const vllm = createDialect({
  name: "vllm",
  basePath: "/vllm/v1/",
  errors: vllmErrors,
  codes: { wrongKey: "unauthorized_request", invalid: "invalid", server: "failed" },
  operations: [
    { kind: "generation", method: "POST", path: /^images\/generations$/, respond: respondTo("generation") },
    { kind: "edit", method: "POST", path: /^images\/edits$/, body: "form", respond: respondTo("edit") },
  ],
  // FastAPI's own checks of the body give a list, everything else a string.
  describeError: ({ status, message, param }) => ({
    detail: status === 422 ? [{ type: "value_error", loc: ["body", param], msg: message }] : message,
  }),
  needsKey: false,
});

function respondTo(operation: "generation" | "edit") {
  return async (call: ProviderCall, services: Services): Promise<Response> => {
    const fields = readFields(call.body, { isForm: operation === "edit", refuse: refuseField });
    const prompt = fields.requiredText("prompt");
    if (fields.text("response_format") === "url") {
      throw new Refusal({ code: "invalid", message: "Only response_format 'b64_json' is supported." });
    }
    fields.text("negative_prompt");
    fields.integer("num_inference_steps", 1, 200);
    fields.number("guidance_scale", 0, 20);
    fields.number("true_cfg_scale", 0, 20);
    const references = operation === "edit" ? await readImages(call, services) : [];
    const images = await makeImages(
      {
        provider: "vllm",
        model: fields.text("model") ?? "Qwen/Qwen-Image",
        prompt,
        n: fields.integer("n", 1, 10) ?? 1,
        size: readSize(fields),
        format: "png",
        seed: fields.integer("seed", 0, 2 ** 53),
        references,
        deliver: "b64_json",
        failureCode: "failed",
      },
      { call, services },
    );
    const created = Math.floor(services.settings.now() / 1000);
    return jsonResponse({
      created,
      data: images.map((image) => ({ ...image, url: null, revised_prompt: null })),
    });
  };
}

async function readImages(call: ProviderCall, services: Services) {
  const sources = ["url", "url[]"].flatMap((name) => listOf(call.body[name]));
  const images = [
    ...(await readFiles(call, ["image", "image[]"], "invalid")),
    ...(await readInputImages(sources, { call, services, code: "invalid" })),
  ];
  if (images.length === 0)
    throw new Refusal({ code: "validation", message: "Field required", param: "image" });
  return images;
}

function readSize(fields: Fields): PixelSize {
  const text = fields.text("size");
  if (text === undefined || text === "auto") return { width: 1024, height: 1024 };
  const size = parsePixelSize(text, "x");
  if (size === undefined) throw new Refusal({ code: "invalid", message: `Invalid size format: '${text}'.` });
  return size;
}

function refuseField({ kind, name, expected }: { kind: string; name: string; expected: string }): Refusal {
  const message = kind === "missing" ? "Field required" : `Input should be ${expected}`;
  return new Refusal({ code: "validation", message, param: name });
}
