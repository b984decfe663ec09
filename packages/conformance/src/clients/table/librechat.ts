import OpenAI from "openai";
import {
  type Client,
  ClientError,
  type Connection,
  decodeBase64,
  type EditCall,
  type ImageCall,
  type Images,
} from "./client.js";
import { axios, sendOnWire } from "./http-libraries.js";
import { type Item, readItems } from "./read-response.js";

/** The tool `image_gen_oai`, which uses the package openai. */
async function generate(
  { url, apiKey, model }: Connection,
  { prompt, n = 1, size = "auto" }: ImageCall,
): Images {
  const { data } = await new OpenAI({ baseURL: `${url}/v1`, apiKey }).images.generate({
    model,
    prompt,
    n,
    background: "auto",
    output_format: "png",
    quality: "auto",
    size,
  });
  return readFirst(data ?? []);
}

/** The tool `image_edit_oai`, which uses axios and form-data. It sends no `n`. */
async function edit({ url, apiKey, model }: Connection, { prompt, images, size = "auto" }: EditCall): Images {
  const form = [
    { name: "model", value: model },
    { name: "prompt", value: prompt },
    { name: "quality", value: "auto" },
    { name: "size", value: size },
    ...images.map((value, index) => ({
      name: "image[]",
      value,
      filename: `猫 ${index}.png`,
      type: "image/png",
    })),
  ];
  const call = { path: "/v1/images/edits", apiKey, body: { form }, streams: true };
  const response = await sendOnWire(url, axios({ host: new URL(url).host }, call));
  if (response.status >= 400) throw new ClientError(`Request failed with status code ${response.status}`);
  return readFirst(readItems(response));
}

/** Only the first element is shown, and only its base64 is read. */
function readFirst([first]: readonly Item[]): readonly Uint8Array[] {
  if (first?.b64_json) return [decodeBase64(first.b64_json)];
  throw new ClientError("No image data returned from OpenAI API.");
}

const FIRST_ONLY = "The program shows only the first image. The others are made and charged.";

export const LIBRECHAT: Client = {
  name: "LibreChat",
  profile: "librechat",
  source: "danny-avila/LibreChat, api/app/clients/tools/structured/OpenAIImageTools.js",
  path: "/v1",
  sizes: ["auto", "1024x1024", "1536x1024", "1024x1536"],
  generate,
  edit,
  exceptions: { "Generate, 2 images": FIRST_ONLY },
};
