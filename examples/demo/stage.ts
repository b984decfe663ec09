import type { Emulator } from "@calotype/emulator";
import OpenAI from "openai";
import type { App } from "./start-app.ts";

/** What all parts of the demo use. */
export interface Stage {
  readonly app: App;
  /** The emulated providers Ark and DashScope. */
  readonly providers: Emulator;
  /** The folder of the images. */
  readonly folder: string;
  /** Ends the emulated providers Ark and DashScope and starts new ones at the same address, which have no images. */
  readonly restartProviders: () => Promise<void>;
}

/** Creates the official client, without retries, so that every response of the gateway can be seen. */
export function openClient({ app }: Stage, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: app.baseUrl, apiKey, maxRetries: 0 });
}
