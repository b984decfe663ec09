import {
  type Client,
  ClientError,
  type Connection,
  decodeBase64,
  type EditCall,
  type ImageCall,
  type Images,
} from "./client.js";
import { axios, type Body, sendOnWire } from "./http-libraries.js";
import { type Item, readItems, readNames } from "./read-response.js";

function send({ url, apiKey }: Connection, path: string, body?: Body) {
  return sendOnWire(url, axios({ host: new URL(url).host }, { path, apiKey, ...(body && { body }) }));
}

/** `response_format` is sent unless the model's name begins with `gpt-image`. */
async function generate(connection: Connection, { prompt, n, size }: ImageCall): Images {
  const { model } = connection;
  const response_format = model.startsWith("gpt-image") ? {} : { response_format: "b64_json" };
  const json = { prompt, model, ...response_format, ...(n && { n }), ...(size && { size }) };
  return read(readItems(await send(connection, "/v1/images/generations", { json })));
}

/** Several images are possible only with a name that begins with `gpt-image-1`. */
async function edit(connection: Connection, { prompt, images, n = 1, size = "1024x1024" }: EditCall): Images {
  const form = [
    ...images.map((value, index) => ({
      name: "image[]",
      value,
      filename: `${index}.png`,
      type: "image/png",
    })),
    { name: "prompt", value: prompt },
    { name: "model", value: connection.gptImage1 },
    { name: "n", value: String(n) },
    { name: "size", value: size },
    { name: "quality", value: "auto" },
  ];
  return read(readItems(await send(connection, "/v1/images/edits", { form })));
}

/** Each element must have base64: the node decodes it without a check. */
function read(items: readonly Item[]): readonly Uint8Array[] {
  return items.map(({ b64_json }) => {
    if (b64_json) return decodeBase64(b64_json);
    throw new ClientError("The first argument must be of type string. Received undefined");
  });
}

/** The list of the node shows only names that contain `dall-e` or `gpt-image`. */
async function listModels(connection: Connection): Promise<readonly string[]> {
  const names = readNames(await send(connection, "/v1/models"));
  return names.filter((name) => name.includes("dall-e") || name.includes("gpt-image"));
}

export const N8N: Client = {
  name: "n8n",
  profile: "n8n",
  source: "n8n-io/n8n, packages/@n8n/nodes-langchain/nodes/vendors/OpenAi/v2/actions/image",
  path: "/v1",
  sizes: ["256x256", "512x512", "1024x1024", "1792x1024", "1024x1792", "1536x1024", "1024x1536"],
  generate,
  edit,
  listModels,
};
