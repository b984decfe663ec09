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

/** With Azure's settings, the key is in the header `api-key`, and the API version in the query. */
interface Settings {
  readonly isAzure: boolean;
}

const AZURE_QUERY = { "api-version": "2025-04-01-preview" };

/** The tool `image_gen_oai`, which uses the package openai. */
const generateWith =
  ({ isAzure }: Settings) =>
  async ({ url, apiKey, model }: Connection, { prompt, n = 1, size = "auto" }: ImageCall): Images => {
    const azure = { defaultQuery: AZURE_QUERY, defaultHeaders: { "api-key": apiKey } };
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, ...(isAzure && azure) });
    const { data } = await client.images.generate({
      model,
      prompt,
      n,
      background: "auto",
      output_format: "png",
      quality: "auto",
      size,
    });
    return readFirst(data ?? []);
  };

/** The tool `image_edit_oai`, which uses axios and form-data. It sends no `n`. */
const editWith =
  ({ isAzure }: Settings) =>
  async ({ url, apiKey, model }: Connection, { prompt, images, size = "auto" }: EditCall): Images => {
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
    const query = isAzure ? `?${new URLSearchParams(AZURE_QUERY).toString()}` : "";
    const call = { path: `/v1/images/edits${query}`, apiKey, body: { form }, streams: true, isAzure };
    const response = await sendOnWire(url, axios({ host: new URL(url).host }, call));
    if (response.status >= 400) throw new ClientError(`Request failed with status code ${response.status}`);
    return readFirst(readItems(response));
  };

/** Only the first element is shown, and only its base64 is read. */
function readFirst([first]: readonly Item[]): readonly Uint8Array[] {
  if (first?.b64_json) return [decodeBase64(first.b64_json)];
  throw new ClientError("No image data returned from OpenAI API.");
}

const FIRST_ONLY = "The program shows only the first image. The others are made and charged.";

const define = (name: string, settings: Settings): Client => ({
  name,
  profile: "librechat",
  source: "danny-avila/LibreChat, api/app/clients/tools/structured/OpenAIImageTools.js",
  path: "/v1",
  sizes: settings.isAzure ? [] : ["auto", "1024x1024", "1536x1024", "1024x1536"],
  generate: generateWith(settings),
  edit: editWith(settings),
  exceptions: { "Generate, 2 images": FIRST_ONLY },
});

export const LIBRECHAT: readonly Client[] = [
  define("LibreChat", { isAzure: false }),
  define("LibreChat, settings of Azure", { isAzure: true }),
];
