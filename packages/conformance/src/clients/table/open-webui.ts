import { randomUUID } from "node:crypto";
import {
  type Client,
  ClientError,
  type Connection,
  decodeBase64,
  download,
  type EditCall,
  type ImageCall,
  type Images,
} from "./client.js";
import { aiohttp, type Body, type Part, sendOnWire } from "./http-libraries.js";
import { type Item, readItems } from "./read-response.js";

/** Both requests leave `response_format` out if the model's name begins with `gpt-image`. */
const formatFor = (model: string) => (model.startsWith("gpt-image") ? {} : { response_format: "b64_json" });

/** `size` is the setting of the administrator, 512x512 by default. */
async function generate(connection: Connection, { prompt, n = 1, size = "512x512" }: ImageCall): Images {
  const { model, apiKey } = connection;
  const headers = { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" };
  const json = { model, prompt, n, size, ...formatFor(model) };
  return send(connection, "/v1/images/generations", headers, { json });
}

/** One image is sent as `image`, several as `image[]`. The setting for the size of edits is empty by default. */
async function edit(connection: Connection, { prompt, images, n, size }: EditCall): Images {
  const { model, apiKey } = connection;
  const fields = { model, prompt, ...(n && { n }), ...(size && { size }), ...formatFor(model) };
  const name = images.length === 1 ? "image" : "image[]";
  const form = [
    ...Object.entries(fields).map(([field, value]): Part => ({ name: field, value: String(value) })),
    ...images.map((value): Part => ({ name, value, filename: `${randomUUID()}.png`, type: "image/png" })),
  ];
  return send(connection, "/v1/images/edits", { Authorization: `Bearer ${apiKey}` }, { form });
}

async function send(
  connection: Connection,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Body,
): Images {
  const { url } = connection;
  const response = await sendOnWire(url, aiohttp({ host: new URL(url).host }, { path, headers, body }));
  if (response.status >= 400)
    throw new ClientError("The user sees only the reason phrase, such as Bad Request.");
  return Promise.all(readItems(response).map((item) => open(connection, item)));
}

/** A link comes first, and is opened with the key of the gateway. What it leads to must be an image. */
async function open(connection: Connection, { url, b64_json }: Item): Promise<Uint8Array> {
  if (url) {
    const { bytes, contentType } = await download(connection, url, {
      Authorization: `Bearer ${connection.apiKey}`,
    });
    if (contentType.split("/")[0] === "image") return bytes;
    throw new ClientError("Failed to retrieve image data from the generation backend");
  }
  if (!b64_json) throw new ClientError("'b64_json'");
  return decodeBase64(b64_json);
}

export const OPEN_WEBUI: Client = {
  name: "Open WebUI",
  profile: "open-webui",
  source: "open-webui/open-webui, backend/open_webui/routers/images.py",
  path: "/v1",
  sizes: ["512x512", "1024x1024", "1920x1080"],
  generate,
  edit,
  exceptions: {
    "A refused prompt":
      "The user sees only the reason phrase `Bad Request`. The gateway's message is not shown.",
  },
};
