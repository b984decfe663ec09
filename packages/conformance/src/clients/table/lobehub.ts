import OpenAI, { toFile } from "openai";
import { toDataUrl } from "../support/images.js";
import {
  type Client,
  ClientError,
  type Connection,
  download,
  type EditCall,
  type ImageCall,
  type Images,
  sizesArkRefuses,
} from "./client.js";
import { openItem } from "./read-response.js";

const SOURCE = "lobehub/lobehub, packages/model-runtime/src";

/** The program requests one image at a time, and reads the first element. */
const each =
  (request: (connection: Connection, call: EditCall) => Promise<Uint8Array>) =>
  (connection: Connection, { n = 1, ...call }: ImageCall & Partial<EditCall>): Images =>
    Promise.all(Array.from({ length: n }, () => request(connection, { images: [], ...call })));

async function requestFromOpenaiCompatible(connection: Connection, call: EditCall): Promise<Uint8Array> {
  const { url, apiKey, model } = connection;
  const { prompt, size, images } = call;
  const { images: api } = new OpenAI({ baseURL: `${url}/v1`, apiKey });
  const fields = { model, n: 1, prompt, ...(size && size !== "auto" && { size: size }) };
  const files = await Promise.all(images.map((image, index) => toFile(image, `image_${index}.png`)));
  const image = files.length === 1 && files[0] ? files[0] : files;
  const { data } = files.length > 0 ? await api.edit({ ...fields, image }) : await api.generate(fields);
  return openItem(connection, data?.[0] ?? {});
}

async function requestFromVolcengine(connection: Connection, call: EditCall): Promise<Uint8Array> {
  const { url, apiKey, model } = connection;
  const { prompt, size = "2048x2048", images } = call;
  const request = {
    model,
    watermark: false,
    prompt,
    ...(images.length > 0 && { image: images.map(toDataUrl) }),
    size: size,
  };
  const { data } = await new OpenAI({ baseURL: `${url}/api/v3`, apiKey }).images.generate(request);
  return openItem(connection, data?.[0] ?? {});
}

/** The structure of DashScope. Images come before the text, the last one first. No size is sent. */
async function requestFromQwen(connection: Connection, { prompt, images }: EditCall): Promise<Uint8Array> {
  const { url, apiKey, model } = connection;
  const content = [...images.toReversed().map((image) => ({ image: toDataUrl(image) })), { text: prompt }];
  const response = await fetch(`${url}/api/v1/services/aigc/multimodal-generation/generation`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ input: { messages: [{ content, role: "user" }] }, model, parameters: {} }),
  });
  const body: DashScopeBody = JSON.parse(await response.text());
  if (!response.ok) throw new ClientError(`Failed to create image for model ${model}: ${body.message}`);
  const image = body.output?.choices?.[0]?.message.content.find(
    (item) => typeof item.image === "string",
  )?.image;
  if (image === undefined) throw new ClientError(`No image found in response content for model ${model}`);
  return (await download(connection, image)).bytes;
}

interface DashScopeBody {
  readonly message?: string;
  readonly output?: {
    readonly choices?: readonly {
      readonly message: { readonly content: readonly { readonly image?: string }[] };
    }[];
  };
}

/** Three of the providers that the program can be set to. */
export const LOBEHUB: readonly Client[] = [
  {
    name: "LobeHub, provider OpenAI",
    profile: "lobehub",
    source: `${SOURCE}/core/openaiCompatibleFactory/createImage.ts`,
    path: "/v1",
    sizes: ["auto", "1024x1024", "1536x1024", "1024x1536"],
    generate: each(requestFromOpenaiCompatible),
    edit: each(requestFromOpenaiCompatible),
    listModels: async ({ url, apiKey }) => {
      const { data } = await new OpenAI({ baseURL: `${url}/v1`, apiKey }).models.list();
      return data.map(({ id }) => id);
    },
  },
  {
    name: "LobeHub, provider Volcengine",
    profile: "lobehub",
    source: `${SOURCE}/providers/volcengine/createImage.ts`,
    path: "/api/v3",
    models: ["Seedream 4.5", "Seedream 5.0 Pro"],
    sizes: ["2048x2048", "1024x1024", "1728x2304"],
    generate: each(requestFromVolcengine),
    edit: each(requestFromVolcengine),
    exceptions: sizesArkRefuses("1024x1024"),
  },
  {
    name: "LobeHub, provider Qwen",
    profile: "lobehub",
    source: `${SOURCE}/providers/qwen/createImage.ts`,
    path: "/api/v1",
    models: ["Qwen-Image 2.0"],
    sizes: [],
    generate: each(requestFromQwen),
    edit: each(requestFromQwen),
  },
];
