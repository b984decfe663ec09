import { applyUsageFault } from "../faults/apply-usage-fault.js";
import { readBearerKey, readKeyHeader } from "../http/read-key.js";
import { jsonResponse } from "../http/responses.js";
import type { PixelSize } from "../pixel-size.js";
import type { ProviderCall } from "../provider-call.js";
import { type Fields, readFields } from "../read-fields.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { countTextTokens } from "../text-tokens.js";
import { createDialect, fieldRefuser, moderate } from "./create-dialect.js";
import { maiErrors } from "./error-tables.js";
import { readFiles } from "./input-images.js";
import { makeImages } from "./make-images.js";

const code = "invalid_value";
const minSide = 768;
/** The most pixels, by what the name of the deployment begins with. Another name is like the newest model. */
const maxPixels: readonly (readonly [RegExp, number])[] = [
  [/^mai-image-2(?:e|\.5.*)?$/i, 1024 * 1024],
  [/^mai-image-2\.6/i, 1536 * 1536],
];
const newestPixels = 2048 * 2048;
/** An image has a token for each 1,024 pixels (fal.ai). */
const pixelsPerToken = 1024;
const maxInputs = 5;

/** Microsoft's MAI-Image models: `width` and `height`, one PNG as base64, edits as a form, tokens with names of their own. */
export const mai = createDialect({
  name: "mai",
  basePath: "/azure/mai/v1/",
  errors: maiErrors,
  codes: { wrongKey: "401", invalid: code, server: "server_error" },
  operations: [
    { kind: "generation", method: "POST", path: /^images\/generations$/, respond: respondTo("generation") },
    { kind: "edit", method: "POST", path: /^images\/edits$/, body: "form", respond: respondTo("edit") },
  ],
  readKey: (request) => readKeyHeader(request, "api-key") ?? readBearerKey(request),
  describeError: ({ code: name, message }) => ({ error: { code: name, message } }),
});

function respondTo(operation: "generation" | "edit") {
  return async (call: ProviderCall, services: Services): Promise<Response> => {
    const fields = readFields(call.body, { isForm: operation === "edit", refuse: fieldRefuser(code) });
    for (const name of ["response_format", "seed", "negative_prompt"]) {
      if (fields.has(name))
        throw new Refusal({ code, message: `Unsupported parameter: ${name}`, param: name });
    }
    const model = fields.requiredText("model");
    if (model.startsWith("nobody-")) throw new Refusal({ code: "DeploymentNotFound" });
    const prompt = fields.requiredText("prompt");
    moderate(prompt, "content_policy_violation");
    const references = operation === "edit" ? await readImages(call) : [];
    const size = readSize(fields, maxPixels.find(([name]) => name.test(model))?.[1] ?? newestPixels);
    const data = await makeImages(
      {
        provider: "mai",
        model,
        prompt,
        n: 1, // the API makes one
        size,
        format: "png",
        isCutout: fields.choice("background", ["auto", "opaque", "transparent"]) === "transparent",
        references,
        deliver: "b64_json",
        failureCode: "content_policy_violation",
      },
      { call, services },
    );
    const usage = {
      num_input_text_tokens: countTextTokens(prompt),
      num_input_image_tokens: references.reduce((sum, reference) => sum + tokensOf(reference), 0),
      num_output_tokens: data.length * tokensOf(size),
    };
    const created = Math.floor(services.settings.now() / 1000);
    return jsonResponse({ created, data, ...applyUsageFault(usage, call.fault) });
  };
}

const tokensOf = ({ width, height }: PixelSize): number => Math.ceil((width * height) / pixelsPerToken);

/** `size` is ignored. */
function readSize(fields: Fields, most: number): PixelSize {
  const width = fields.integer("width", minSide, newestPixels) ?? 1024;
  const height = fields.integer("height", minSide, newestPixels) ?? 1024;
  if (width * height > most)
    throw new Refusal({ code, message: `width x height must be at most ${most} pixels.`, param: "width" });
  return { width, height };
}

async function readImages(call: ProviderCall) {
  const images = await readFiles(call, ["image", "image[]"], code);
  if (images.length === 0 || images.length > maxInputs)
    throw new Refusal({ code, message: `image must be 1 to ${maxInputs} files.`, param: "image" });
  return images;
}
