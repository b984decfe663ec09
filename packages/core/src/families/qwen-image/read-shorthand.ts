import { invalidRequest } from "../../errors.js";
import type { JsonObject } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import { splitOpenAiOnly } from "../openai-only-fields.js";
import type { QwenImageContent } from "./content.js";
import { shorthandRequestSchema } from "./request-schema.js";

/** Top-level fields of the shorthand that have their place in `parameters`. */
const PARAMETERS = ["watermark", "prompt_extend", "negative_prompt", "seed"] as const;

const UNDERSTOOD: ReadonlySet<string> = new Set([
  "prompt",
  "image",
  "n",
  "size",
  "parameters",
  "response_format",
  "stream",
  ...PARAMETERS,
]);

/**
 * A family B request as OpenAI's clients write it: `prompt` and `image` become the message, `n`,
 * `size` and the known parameters go into `parameters`, where what the client put there itself wins.
 *
 * @throws GatewayError that names the first wrong field
 */
export function readShorthand(fields: JsonObject): QwenImageContent {
  // Left out, it would make a picture of the text alone, and charge for it.
  if ("images" in fields) {
    throw invalidRequest(
      "images is not supported: send image, one reference image or a list of them.",
      "images",
    );
  }
  const { known, ignored } = splitOpenAiOnly(fields);
  const parsed = parseFields(shorthandRequestSchema, known);
  const moved = Object.fromEntries(
    PARAMETERS.filter((name) => name in known).map((name) => [name, known[name]]),
  );
  const images = parsed.image === undefined ? [] : [parsed.image].flat();
  return {
    text: parsed.prompt,
    images: images.map((value, index) => ({
      value,
      param: Array.isArray(parsed.image) ? `image[${index}]` : "image",
    })),
    parameters: {
      ...(parsed.n !== undefined && parsed.n > 1 && { n: parsed.n }),
      ...readSize(parsed.size),
      ...moved,
      ...parsed.parameters,
    },
    paramOf: (name) => (parsed.parameters?.[name] === undefined ? name : `parameters.${name}`),
    responseFormat: parsed.response_format,
    stream: parsed.stream ?? false,
    ignored: [...ignored, ...Object.keys(known).filter((name) => !UNDERSTOOD.has(name))],
  };
}

function readSize(size: string | undefined): { size?: string } {
  if (size === undefined || size === "auto" || size === "adaptive") return {};
  return { size: size.replace(/^(\d+)x(\d+)$/, "$1*$2") };
}
