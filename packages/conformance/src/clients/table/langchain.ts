import { DallEAPIWrapper } from "@langchain/openai";
import { type Client, ClientError, type Connection, type ImageCall, type Images } from "./client.js";
import { openItem } from "./read-response.js";

/** The tool of `@langchain/openai`, with its default `dallEResponseFormat: "url"`. */
async function generate(connection: Connection, { prompt, n, size }: ImageCall): Images {
  const { url, apiKey, model } = connection;
  const tool = new DallEAPIWrapper({
    baseUrl: `${url}/v1`,
    apiKey,
    model,
    ...(n && { n }),
    ...(isSize(size) && { size }),
  });
  const output: unknown = await tool.invoke(prompt);
  if (typeof output === "string") return [await openItem(connection, { url: output })];
  if (!Array.isArray(output)) throw new ClientError("The tool returned no image.");
  const items: readonly { readonly image_url: string }[] = output;
  return Promise.all(items.map((item) => openItem(connection, { url: item.image_url })));
}

const SIZES = ["256x256", "512x512", "1024x1024", "1792x1024", "1024x1792"] as const;
const isSize = (size = ""): size is (typeof SIZES)[number] => SIZES.some((offered) => offered === size);

export const LANGCHAIN: Client = {
  name: "LangChain JS",
  profile: "langchain",
  source: "@langchain/openai 1.6.0 (npm), `DallEAPIWrapper`",
  path: "/v1",
  sizes: SIZES,
  generate,
};
