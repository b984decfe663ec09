import OpenAI, { toFile } from "openai";
import type { Client, Connection, EditCall, ImageCall, Images } from "./client.js";
import { decodeBase64 } from "./client.js";
import { openItems } from "./read-response.js";

const connect = ({ url, apiKey }: Connection): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey });

async function generate(connection: Connection, call: ImageCall): Images {
  const { model } = connection;
  const { data } = await connect(connection).images.generate({ ...call, model });
  return openItems(connection, data ?? []);
}

async function edit(connection: Connection, { images, ...call }: EditCall): Images {
  const files = await Promise.all(images.map((image, index) => toFile(image, `${index}.png`)));
  const { data } = await connect(connection).images.edit({
    ...call,
    model: connection.model,
    image: files.length === 1 && files[0] ? files[0] : files,
  });
  return openItems(connection, data ?? []);
}

async function stream(connection: Connection, call: ImageCall): Images {
  const { model } = connection;
  return readEvents(await connect(connection).images.generate({ ...call, model, stream: true }));
}

async function streamEdit(connection: Connection, { images, ...call }: EditCall): Images {
  const image = await Promise.all(images.map((bytes, index) => toFile(bytes, `${index}.png`)));
  const { model } = connection;
  return readEvents(await connect(connection).images.edit({ ...call, model, image, stream: true }));
}

/** Reads the events as the types of the package describe them: one `completed` with base64 for each image. */
async function readEvents(
  events: AsyncIterable<OpenAI.Images.ImageGenStreamEvent | OpenAI.Images.ImageEditStreamEvent>,
): Images {
  const images: Uint8Array[] = [];
  for await (const { type, b64_json } of events) {
    if (type.endsWith(".completed") && b64_json) images.push(decodeBase64(b64_json));
  }
  return images;
}

async function listModels(connection: Connection): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { id } of connect(connection).models.list()) names.push(id);
  return names;
}

/** The official package for Node. */
export const OPENAI_NODE: Client = {
  name: "openai (Node)",
  profile: "openai",
  source: "openai 7.57.0 (npm)",
  path: "/v1",
  sizes: ["256x256", "512x512", "1024x1024", "1536x1024", "1024x1536", "1792x1024", "1024x1792"],
  generate,
  edit,
  stream,
  streamEdit,
  listModels,
};
