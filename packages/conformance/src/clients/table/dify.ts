import {
  type Client,
  ClientError,
  type Connection,
  decodeBase64,
  type ImageCall,
  type Images,
} from "./client.js";
import { editBody, generateBody, sendAsOpenaiPython } from "./openai-python.js";
import { type Item, readItems } from "./read-response.js";

/** The tool sends `n` always, and leaves out what is `auto`. */
const fieldsOf = ({ gptImage2: model }: Connection, { prompt, n = 1, size = "auto" }: ImageCall) => ({
  model,
  prompt,
  n,
  ...(size !== "auto" && { size }),
});

/** Elements without base64 are skipped. The user sees a result without images. */
function read(items: readonly Item[]): readonly Uint8Array[] {
  const images = items.flatMap(({ b64_json }) => (b64_json ? [decodeBase64(b64_json)] : []));
  if (images.length === 0) throw new ClientError("The tool ends without an image.");
  return images;
}

export const DIFY: Client = {
  name: "Dify",
  profile: "dify",
  source:
    "langgenius/dify-official-plugins, tools/openai/tools/gpt_image_2_generate.py and gpt_image_2_edit.py",
  path: "/v1",
  sizes: ["auto", "1024x1024", "1536x1024", "1024x1536", "2048x2048", "3840x2160"],
  generate: async (connection, call): Images => {
    const body = generateBody(fieldsOf(connection, call));
    return read(readItems(await sendAsOpenaiPython(connection, "/v1/images/generations", body)));
  },
  edit: async (connection, { images, ...call }): Images => {
    const body = editBody(fieldsOf(connection, call), images);
    return read(readItems(await sendAsOpenaiPython(connection, "/v1/images/edits", body)));
  },
};
