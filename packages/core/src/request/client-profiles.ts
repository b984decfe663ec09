import type { ClientName, Preferences } from "../types.js";

/**
 * What each client program needs, for `callers[].client`. Only data. The facts come from the source code of the clients
 * (November 2026); the pages of docs/clients name them.
 */
export const CLIENT_PROFILES: Readonly<Record<ClientName, Preferences>> = {
  /** Reads `b64_json` only. */
  librechat: { responseFormat: "b64_json", sizes: "nearest" },
  /** Skips images without `b64_json`. */
  dify: { responseFormat: "b64_json", sizes: "nearest" },
  /** Downloads links with its own Authorization header, so a link would send the caller's key to the provider. */
  "open-webui": { responseFormat: "b64_json", sizes: "nearest" },
  /** Decodes `b64_json` without a check, and does not request it from models that are called `gpt-image…`. */
  n8n: { responseFormat: "b64_json", sizes: "nearest" },
  langchain: { sizes: "nearest" },
  lobehub: { sizes: "nearest" },
  litellm: { sizes: "nearest" },
  comfyui: { sizes: "nearest" },
  /** `@ai-sdk/openai` reads `b64_json` only, and does not request it for edits. */
  "ai-sdk": { responseFormat: "b64_json", sizes: "nearest" },
  /** In streams, the official packages expect one event for each image, with base64. OpenAI's current models send no links. */
  openai: { responseFormat: "b64_json", streamFormat: "openai", sizes: "nearest" },
};
