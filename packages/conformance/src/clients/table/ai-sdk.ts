import { createByteDance } from "@ai-sdk/bytedance";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateImage, type ImageModel } from "ai";
import { type Client, type Connection, type EditCall, type ImageCall, sizesArkRefuses } from "./client.js";

/** A client of the AI SDK: `generateImage` with a model of this provider. */
const define = (
  toModel: (connection: Connection) => ImageModel,
  client: Pick<Client, "name" | "source" | "path"> & Partial<Client>,
): Client => ({
  profile: "ai-sdk",
  sizes: ["1024x1024", "1536x1024", "1024x1536", "1792x1024"],
  generate: (connection, call) => generate(toModel(connection), call),
  edit: (connection, { images, prompt, ...call }: EditCall) =>
    generate(toModel(connection), { ...call, prompt: { text: prompt, images: [...images] } }),
  ...client,
});

async function generate(model: ImageModel, { size, ...call }: SdkCall) {
  const { images } = await generateImage({
    model,
    ...call,
    ...(isSize(size) && { size }),
  });
  return images.map(({ uint8Array }) => uint8Array);
}

const isSize = (size: string | undefined): size is `${number}x${number}` => size !== undefined;

interface SdkCall extends Omit<ImageCall, "prompt"> {
  readonly prompt: string | { readonly text: string; readonly images: Uint8Array[] };
}

/** The providers of the AI SDK that reach a gateway. */
export const AI_SDK: readonly Client[] = [
  define(
    ({ url, apiKey, fetch, model }) => createOpenAI({ baseURL: `${url}/v1`, apiKey, fetch }).image(model),
    {
      name: "AI SDK, `@ai-sdk/openai`",
      source: "@ai-sdk/openai 4.0.118 (npm)",
      path: "/v1",
    },
  ),
  define(
    ({ url, apiKey, fetch, model }) =>
      createOpenAICompatible({ name: "calotype", baseURL: `${url}/v1`, apiKey, fetch }).imageModel(model),
    {
      name: "AI SDK, `@ai-sdk/openai-compatible`",
      source: "@ai-sdk/openai-compatible 3.0.92 (npm)",
      path: "/v1",
    },
  ),
  define(
    ({ url, apiKey, fetch, model }) =>
      createByteDance({ baseURL: `${url}/api/v3`, apiKey, fetch }).image(model),
    {
      name: "AI SDK, `@ai-sdk/bytedance`",
      source: "@ai-sdk/bytedance 1.0.29 (npm)",
      path: "/api/v3",
      models: ["Seedream 4.5", "Seedream 5.0 Pro"],
      exceptions: sizesArkRefuses("1024x1024", "1536x1024", "1024x1536", "1792x1024"),
    },
  ),
];
