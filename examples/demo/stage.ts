import type { Emulator } from "@calotype/emulator";
import OpenAI from "openai";
import type { App } from "./start-app.ts";

/** What all parts of the demo use. */
export interface Stage {
  app: App;
  /** The emulated providers Ark, DashScope, OpenAI and BFL. */
  readonly providers: Emulator;
  /** The folder of the images. */
  readonly folder: string;
  /** Ends the emulated providers and starts new ones at the same address, which have no images. */
  readonly restartProviders: () => Promise<void>;
  /** Starts the app again after it was killed, with the same options, files and port. */
  readonly restartApp: () => Promise<void>;
}

/** Creates the official client, without retries, so that every response of the gateway can be seen. */
export function openClient({ app }: Stage, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: app.baseUrl, apiKey, maxRetries: 0 });
}
