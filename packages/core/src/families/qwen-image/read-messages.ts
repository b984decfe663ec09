import { invalidRequest } from "../../errors.js";
import type { ReferenceImage } from "../../images/reference-image.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { parseFields } from "../../util/parse-fields.js";
import type { QwenImageContent } from "./content.js";
import { type MessagesFields, messagesRequestSchema } from "./request-schema.js";

/** Where the standard structure keeps what clients put elsewhere. */
const MISPLACED: Readonly<Record<string, string>> = {
  n: "parameters.n",
  size: "parameters.size, as <width>*<height>",
  image: "an image item of input.messages[0].content",
  images: "image items of input.messages[0].content",
  negative_prompt: "parameters.negative_prompt",
};

const FORWARDED: ReadonlySet<string> = new Set([
  "prompt",
  "input",
  "parameters",
  "response_format",
  "stream",
]);

/** The standard structure of family B, strictly by the interface. */
export function readMessages(fields: JsonObject): QwenImageContent {
  refuseLegacyInput(fields["input"]);
  for (const [name, place] of Object.entries(MISPLACED)) {
    if (name in fields) throw invalidRequest(`With input, ${name} has another place: send ${place}.`, name);
  }
  const parsed = parseFields(messagesRequestSchema, fields);
  return {
    ...readContent(parsed),
    input: parsed.input,
    parameters: parsed.parameters ?? {},
    paramOf: (name) => `parameters.${name}`,
    responseFormat: parsed.response_format,
    stream: parsed.stream ?? false,
    ignored: Object.keys(fields).filter((name) => !FORWARDED.has(name)),
  };
}

/** The structure that was used before messages fails at the provider; say what to send instead. */
function refuseLegacyInput(input: unknown): void {
  if (!isJsonObject(input)) return;
  const instead: Record<string, string> = {
    prompt: 'send input.messages: [{"role": "user", "content": [{"text": "…"}]}]',
    images: "send image items in input.messages[0].content",
    negative_prompt: "send parameters.negative_prompt",
  };
  for (const [name, advice] of Object.entries(instead)) {
    if (name in input) throw invalidRequest(`input.${name} must not be used: ${advice}.`, `input.${name}`);
  }
}

function readContent({ input }: MessagesFields): { text: string; images: readonly QwenImageReference[] } {
  const path = "input.messages[0].content";
  const items = input.messages[0]?.content ?? [];
  const texts = items.flatMap((item) => item.text ?? []);
  items.forEach((item, index) => {
    const kinds = ["text", "image"].filter((kind) => kind in item);
    if ("images" in item || kinds.length !== 1) {
      throw invalidRequest(`${path}[${index}] must hold either text or image.`, `${path}[${index}]`);
    }
  });
  const [text] = texts;
  if (text === undefined || texts.length !== 1) {
    throw invalidRequest(`${path} must hold exactly one text item, not ${texts.length}.`, path);
  }
  const images = items.flatMap((item, index) =>
    item.image === undefined ? [] : [{ value: item.image, param: `${path}[${index}].image` }],
  );
  return { text, images };
}

interface QwenImageReference {
  readonly value: ReferenceImage;
  readonly param: string;
}
