import OpenAI from "openai";
import type { Emulator } from "../emulator.js";

/** OpenAI's official client, which sends its requests to the emulator without a port and retries nothing. */
export function openaiClient(
  emulator: Emulator,
  path = "/openai/v1",
  options: { apiKey?: string } = {},
): OpenAI {
  return new OpenAI({
    apiKey: "sk-any",
    ...options,
    baseURL: `http://emulator.test${path}`,
    maxRetries: 0,
    fetch: (input, init) => {
      // Before its first form, the client opens a data URL to find out what this function can do.
      if (!(input instanceof Request) && String(input).startsWith("data:")) return fetch(input, init);
      return emulator.fetch(input instanceof Request ? input : String(input), init);
    },
  });
}
