import { jsonResponse } from "../http/responses.js";
import type { ProviderCall } from "../provider-call.js";
import { randomHex } from "../random.js";
import { readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { togetherErrors } from "./error-tables.js";
import { listOf, readInputImages } from "./input-images.js";
import { makeImages } from "./make-images.js";

const code = "invalid_request";

/** Together AI: `width` and `height`, no usage and no `created`. */
export const together = createDialect({
  name: "together",
  basePath: "/together/v1/",
  errors: togetherErrors,
  codes: { wrongKey: "invalid_api_key", invalid: code, server: "server_error" },
  operations: [{ kind: "generation", method: "POST", path: /^images\/generations$/, respond }],
  describeError: ({ code: name, message, type, param }) => ({
    error: { message, type: type ?? "invalid_request_error", param: param || null, code: name },
  }),
});

async function respond(call: ProviderCall, services: Services): Promise<Response> {
  const fields = readFields(call.body, { refuse: fieldRefuser(code) });
  const model = fields.requiredText("model");
  if (!model.includes("/")) {
    throw new Refusal({ code: "model_not_available", message: `Unable to access model ${model}.` });
  }
  const prompt = fields.requiredText("prompt");
  moderate(prompt, "nsfw_content");
  const { image_url: single, reference_images: several } = call.body;
  const deliver = fields.choice("response_format", ["base64", "url"]) === "base64" ? "b64_json" : "url";
  fields.text("negative_prompt");
  fields.integer("steps", 1, 100);
  const images = await makeImages(
    {
      provider: "together",
      model,
      prompt,
      n: fields.integer("n", 1, 4) ?? 1,
      size: {
        width: fields.integer("width", 64, 2048) ?? 1024,
        height: fields.integer("height", 64, 2048) ?? 1024,
      },
      format: fields.choice("output_format", ["jpeg", "png"]) ?? "jpeg",
      seed: fields.integer("seed", 0, 2 ** 32),
      references: await readInputImages([...listOf(single), ...listOf(several)], { call, services, code }),
      deliver,
      failureCode: "nsfw_content",
    },
    { call, services },
  );
  return jsonResponse({
    id: `${randomHex(services.random, 7)}-${randomHex(services.random, 16)}`,
    model,
    object: "list",
    data: images.map((image, index) => ({ index, type: deliver, ...image })),
  });
}
