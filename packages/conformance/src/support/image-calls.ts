import type { Call } from "./http-client.ts";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM } from "./test-names.ts";

export const GENERATIONS = "/v1/images/generations";

/** The headers of a caller whose key is right and whose body is JSON. */
export const CALLER_HEADERS = {
  authorization: `Bearer ${CALLER_KEY}`,
  "content-type": "application/json",
} as const;

/** A call with the right key and this body as JSON. */
export function jsonCall(body: unknown, headers: Readonly<Record<string, string>> = {}): Call {
  return { path: GENERATIONS, headers: { ...CALLER_HEADERS, ...headers }, body: JSON.stringify(body) };
}

/** A valid request of family A. */
export const SEEDREAM_BODY = { model: SEEDREAM, prompt: "一只橘猫", size: "1K" } as const;

/** A valid request of family B, in its standard structure. */
export const QWEN_IMAGE_BODY = {
  model: QWEN_IMAGE,
  prompt: "placeholder",
  input: { messages: [{ role: "user", content: [{ text: "a red fox" }] }] },
  parameters: { size: "1328*1328" },
} as const;
