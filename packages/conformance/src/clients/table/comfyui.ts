import {
  type Client,
  ClientError,
  type Connection,
  download,
  type ImageCall,
  type Images,
} from "./client.js";
import { aiohttp, sendOnWire } from "./http-libraries.js";
import { readItems } from "./read-response.js";

/**
 * The node ByteDance Seedream. It sends an empty list of images, and several images as a batch. The two fields of a batch
 * are absent for Seedream 5.0 Pro, because the node gives that model one image.
 */
async function generate(connection: Connection, { prompt, n = 1, size = "2048x2048" }: ImageCall): Images {
  const { url, apiKey, model } = connection;
  const isPro = model.includes("5-0-pro");
  const calls = isPro ? n : 1;
  const json = {
    model,
    prompt,
    response_format: "url",
    image: [],
    size,
    seed: 42,
    ...(!isPro && {
      sequential_image_generation: n === 1 ? "disabled" : "auto",
      sequential_image_generation_options: { max_images: n },
    }),
    watermark: false,
    optimize_prompt_options: { thinking: "enabled" },
  };
  const headers = {
    Accept: "application/json",
    Authorization: `Bearer ${apiKey}`,
    "Comfy-Env": "local-git",
    "Comfy-Usage-Source": "comfyui-api",
    "Comfy-Core-Version": "0.10.0",
    "Content-Type": "application/json",
  };
  const request = { path: "/proxy/byteplus/api/v3/images/generations", headers, body: { json } };
  const images: Uint8Array[] = [];
  for (let call = 0; call < calls; call += 1) {
    const data = readItems(await sendOnWire(url, aiohttp({ host: new URL(url).host }, request)));
    for (const { url: link } of data) {
      if (!link) throw new ClientError(`Only some of ${data.length} images were generated before error.`);
      images.push((await download(connection, link)).bytes);
    }
  }
  return images;
}

export const COMFYUI: Client = {
  name: "ComfyUI",
  profile: "comfyui",
  source: "Comfy-Org/ComfyUI, comfy_api_nodes/nodes_bytedance.py",
  path: "/api/v3",
  models: ["Seedream 4.5", "Seedream 5.0 Pro"],
  sizes: ["2048x2048", "1728x2304", "2304x1728", "1664x2496", "2496x1664"],
  generate,
};
