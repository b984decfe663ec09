import { AI_SDK } from "./ai-sdk.js";
import { LIBRECHAT_CHAT, OPEN_WEBUI_CHAT, OPENAI_CHAT } from "./chat.js";
import type { Client } from "./client.js";
import { COMFYUI } from "./comfyui.js";
import { DIFY } from "./dify.js";
import { LANGCHAIN } from "./langchain.js";
import { LIBRECHAT } from "./librechat.js";
import { LITELLM } from "./litellm.js";
import { LOBEHUB } from "./lobehub.js";
import { N8N } from "./n8n.js";
import { OPEN_WEBUI } from "./open-webui.js";
import { OPENAI_NODE } from "./openai.js";
import { OPENAI_PYTHON } from "./openai-python.js";

/** All clients that have a page in docs/clients, in the order of the table. */
export const CLIENTS: readonly Client[] = [
  OPENAI_NODE,
  OPENAI_CHAT,
  OPENAI_PYTHON,
  ...AI_SDK,
  LANGCHAIN,
  OPEN_WEBUI,
  OPEN_WEBUI_CHAT,
  ...LIBRECHAT,
  LIBRECHAT_CHAT,
  ...LOBEHUB,
  DIFY,
  N8N,
  ...LITELLM,
  COMFYUI,
];

/** The profiles with a page, in the order of the table. */
export const PROFILES = [...new Set(CLIENTS.map(({ profile }) => profile))];
