import { createGateway } from "@calotype/core";
import { gemini } from "./providers/gemini.ts";
import { openai } from "./providers/openai.ts";
import { qwenImage } from "./providers/qwen-image.ts";
import { seedream } from "./providers/seedream.ts";
import { results } from "./results.ts";
import { stores } from "./stores.ts";
import { requireVariables } from "./variables.ts";

requireVariables(
  [
    // The key that your clients send.
    "CALOTYPE_API_KEY",
    ...seedream.variables,
    ...qwenImage.variables,
    ...openai.variables,
    ...gemini.variables,
  ],
  "If you have no account at a provider, remove its lines from gateway.ts. `npm run dev` needs no keys.",
);

/** The gateway. Every option: https://www.npmjs.com/package/@calotype/core */
export const gateway = createGateway({
  families: [
    // Seedream and Qwen-Image are built in.
    openai.family,
    gemini.family,
  ],
  models: {
    ...seedream.models,
    ...qwenImage.models,
    ...openai.models,
    ...gemini.models,
  },
  channels: [
    // A second account of the same family takes over when the first one fails.
    seedream.channel,
    qwenImage.channel,
    openai.channel,
    gemini.channel,
  ],
  // `client: "openai"` is for OpenAI's packages: any of their sizes, base64, their events in streams.
  // More callers: { id: "web-shop", hash: "…", budget: "20" }, with a key from `npx calotype-key`.
  callers: [{ id: "default", key: process.env.CALOTYPE_API_KEY, client: "openai" }],
  billing: {
    model_details: {
      ...seedream.prices,
      ...qwenImage.prices,
      ...openai.prices,
      ...gemini.prices,
    },
  },
  // GET /healthz, for the Dockerfile and for load balancers.
  healthz: true,
  // One record for each request that reached a provider, with its charge.
  onUsage: (record) => console.log(JSON.stringify(record)),
  results,
  ...stores,
});
