import type { Emulator } from "@calotype/emulator";
import OpenAI from "openai";
import type { App } from "./start-app.ts";

/** What the parts of the demo have in common. */
export interface Stage {
  readonly app: App;
  /** Ark and DashScope, whose faults can be set. */
  readonly providers: Emulator;
  /** Where the pictures go. */
  readonly folder: string;
}

/** The official client; it repeats nothing, so that each response of the gateway is seen. */
export function openClient({ app }: Stage, apiKey: string): OpenAI {
  return new OpenAI({ baseURL: app.baseUrl, apiKey, maxRetries: 0 });
}
