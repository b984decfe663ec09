import OpenAI from "openai";
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
import { aiohttp, sendOnWire } from "./http-libraries.js";
import { throwIfRefused } from "./read-response.js";
import { CHAT_MOUNT } from "./serve-models.js";

/*
 * Programs that ask for images as a chat: `/v1/chat/completions`. Each reads the message in its own way.
 */

/** The members of a message or a delta that programs read. The package openai does not know `images`. */
interface ChatImages {
  readonly content?: string | null;
  readonly images?: readonly { readonly type: string; readonly image_url: { readonly url: string } }[];
}

type ChatCall = ImageCall & { readonly images?: EditCall["images"] };

/** A user's message: text, or text and images as data URLs. */
const toMessages = ({ prompt, images = [] }: ChatCall) => {
  const text = { type: "text", text: prompt } as const;
  const parts = images.map((bytes) => {
    const url = `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`;
    return { type: "image_url", image_url: { url } } as const;
  });
  return [{ role: "user", content: images.length === 0 ? prompt : [text, ...parts] } as const];
};

/** Opens what a program shows: a link, or a data URL. */
async function open(connection: Connection, url: string): Promise<Uint8Array> {
  const [, base64] = /^data:image\/[a-z]+;base64,(.+)$/s.exec(url) ?? [];
  return base64 === undefined ? (await download(connection, url)).bytes : decodeBase64(base64);
}

const openAll = (connection: Connection, urls: readonly string[]): Images =>
  Promise.all(urls.map((url) => open(connection, url)));

const urlsOf = ({ images = [] }: ChatImages): readonly string[] =>
  images.map(({ image_url }) => image_url.url);

/** The links to images in Markdown. Data URLs are not shown. */
const linksIn = (content: string): readonly string[] =>
  [...content.matchAll(/!\[[^\]]*\]\((https?:[^)\s]+)\)/g)].map(([, link = ""]) => link);

const connect = ({ url, apiKey }: Connection): OpenAI =>
  new OpenAI({ baseURL: `${url}${CHAT_MOUNT}/v1`, apiKey, maxRetries: 0 });

async function completeWithOpenAi(connection: Connection, { n, ...call }: ChatCall): Images {
  const { model } = connection;
  const completion = await connect(connection).chat.completions.create({
    model,
    messages: toMessages(call),
    ...(n && { n }),
  });
  const message: ChatImages = completion.choices[0]?.message ?? {};
  return openAll(connection, urlsOf(message));
}

async function streamWithOpenAi(connection: Connection, { n, ...call }: ChatCall): Images {
  const { model } = connection;
  const chunks = await connect(connection).chat.completions.create({
    model,
    messages: toMessages(call),
    ...(n && { n }),
    stream: true,
  });
  const urls: string[] = [];
  for await (const { choices } of chunks) {
    const delta: ChatImages = choices[0]?.delta ?? {};
    urls.push(...urlsOf(delta));
  }
  return openAll(connection, urls);
}

/** A custom endpoint. It streams through the package openai, and shows the Markdown of the text. */
async function completeWithLibreChat(connection: Connection, call: ChatCall): Images {
  const chunks = await connect(connection).chat.completions.create({
    model: connection.model,
    messages: toMessages(call),
    user: "662a5a8e3c1f4b0012345678",
    stream: true,
    stream_options: { include_usage: true },
  });
  let content = "";
  for await (const { choices } of chunks) content += choices[0]?.delta.content ?? "";
  return openAll(connection, linksIn(content));
}

/** A connection of the type OpenAI. It streams through aiohttp, and shows `images` and the Markdown of the text. */
async function completeWithOpenWebUi(connection: Connection, call: ChatCall): Images {
  const { url, apiKey, model } = connection;
  const response = await sendOnWire(
    url,
    aiohttp(
      { host: new URL(url).host },
      {
        path: `${CHAT_MOUNT}/v1/chat/completions`,
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${apiKey}` },
        body: { json: { stream: true, model, messages: toMessages(call) } },
      },
    ),
  );
  throwIfRefused(response);
  const shown: string[] = [];
  for (const [, data = ""] of response.text.matchAll(/^data: (\{.*\})$/gm)) {
    const { choices, error }: OpenWebUiChunk = JSON.parse(data);
    if (error) throw new ClientError(error.message);
    const delta = choices?.[0]?.delta ?? {};
    shown.push(...urlsOf(delta), ...linksIn(delta.content ?? ""));
  }
  return openAll(connection, shown);
}

interface OpenWebUiChunk {
  readonly choices?: readonly { readonly delta?: ChatImages }[];
  readonly error?: { readonly message: string };
}

const PATH = "/v1/chat/completions";
const NO_NUMBER = "A chat program does not send a number of images, so one is made.";

const define = (
  client: Pick<Client, "name" | "profile" | "source">,
  complete: typeof completeWithOpenAi,
) => ({
  ...client,
  path: PATH,
  sizes: [],
  generate: complete,
  edit: complete,
});

export const OPENAI_CHAT: Client = {
  ...define(
    { name: "openai (Node), chat", profile: "openai", source: "openai 7.57.0 (npm)" },
    completeWithOpenAi,
  ),
  stream: streamWithOpenAi,
  streamEdit: streamWithOpenAi,
};

export const LIBRECHAT_CHAT: Client = {
  ...define(
    {
      name: "LibreChat, custom endpoint",
      profile: "librechat",
      source: "danny-avila/agents, src/llm/openai/index.ts",
    },
    completeWithLibreChat,
  ),
  exceptions: { "Generate, 2 images": NO_NUMBER },
};

export const OPEN_WEBUI_CHAT: Client = {
  ...define(
    {
      name: "Open WebUI, chat",
      profile: "open-webui",
      source: "open-webui/open-webui, backend/open_webui/routers/openai.py and utils/middleware.py",
    },
    completeWithOpenWebUi,
  ),
  exceptions: { "Generate, 2 images": NO_NUMBER },
};
