import type { Call } from "./http-client.ts";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM } from "./test-names.ts";

export const GENERATIONS = "/v1/images/generations";

/** The headers of a request with a valid key and a JSON body. */
export const CALLER_HEADERS = {
  authorization: `Bearer ${CALLER_KEY}`,
  "content-type": "application/json",
} as const;

/** A request with a valid key and this JSON body. */
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
