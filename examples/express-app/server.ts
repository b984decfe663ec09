// An Express app with an image-generation gateway, configured by its environment:
// PORT, CALOTYPE_API_KEY, ARK_BASE_URL, ARK_API_KEY, DASHSCOPE_BASE_URL, DASHSCOPE_API_KEY, and
// CALOTYPE_CONFIG, a JSON file whose options replace those below, each as a whole.
import { readFileSync } from "node:fs";
import { type ChannelOptions, createGateway, type GatewayOptions } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import express from "express";

const { env } = process;
const config: Partial<GatewayOptions> = env.CALOTYPE_CONFIG
  ? JSON.parse(readFileSync(env.CALOTYPE_CONFIG, "utf8"))
  : {};

// A provider is live when its address or its key is set. Without any, both are emulated here.
const arkIsLive = Boolean(env.ARK_BASE_URL || env.ARK_API_KEY);
const dashscopeIsLive = Boolean(env.DASHSCOPE_BASE_URL || env.DASHSCOPE_API_KEY);
const isEmulated = !arkIsLive && !dashscopeIsLive && config.channels === undefined;
const emulator = isEmulated ? await createEmulator().listen() : undefined;
if (isEmulated)
  console.error(
    "No provider is set (ARK_API_KEY, DASHSCOPE_API_KEY): emulated pictures, API key sk-local unless CALOTYPE_API_KEY is set.",
  );

// BytePlus, the international site of Ark, names the same models without "doubao-".
const arkPrefix = env.ARK_BASE_URL?.includes("bytepluses.com") ? "" : "doubao-";
const seedreams = ["seedream-5-0-lite-260128", "seedream-4-5-251128", "seedream-4-0-250828"];
const ark: ChannelOptions = {
  id: "ark",
  family: "seedream",
  apiKey: env.ARK_API_KEY || "none",
  baseUrl: emulator?.arkBaseUrl ?? (env.ARK_BASE_URL || undefined),
  modelMapping: Object.fromEntries(seedreams.map((model) => [model, arkPrefix + model])),
};
const dashscope: ChannelOptions = {
  id: "dashscope",
  family: "qwen-image",
  apiKey: env.DASHSCOPE_API_KEY || "none",
  baseUrl: emulator?.dashscopeBaseUrl ?? (env.DASHSCOPE_BASE_URL || undefined),
  modelMapping: {
    "image-2.0*": "qwen-image-2.0*",
    "image-max": "qwen-image-max",
    "image-plus": "qwen-image-plus",
    "image-edit*": "qwen-image-edit*",
  },
};

const channels = config.channels ?? [
  ...(isEmulated || arkIsLive ? [ark] : []),
  ...(isEmulated || dashscopeIsLive ? [dashscope] : []),
];
const models = [ark, dashscope]
  .filter(({ family }) => channels.some((channel) => channel.family === family))
  .flatMap(({ family, modelMapping = {} }) => Object.keys(modelMapping).map((model) => [model, { family }]));

if (!isEmulated && !env.CALOTYPE_API_KEY && !config.apiKeys) {
  console.error("Set CALOTYPE_API_KEY: the key that your callers send.");
  process.exit(1);
}

const perImage = (model_price: string) => ({ pricing_mode: "per-request" as const, model_price });
const gateway = createGateway({
  models: Object.fromEntries(models),
  apiKeys: [{ id: "default", key: env.CALOTYPE_API_KEY || (isEmulated ? "sk-local" : undefined) }],
  billing: {
    model_details: {
      "seedream-5-0-lite-260128": perImage("0.22"),
      "seedream-4-5-251128": perImage("0.25"),
      "seedream-4-0-250828": perImage("0.2"),
      "image-2.0*": perImage("0.2"),
      "image-2.0-pro*": perImage("0.5"),
      "image-max": perImage("0.5"),
      "image-plus": perImage("0.2"),
      "image-edit*": perImage("0.3"),
      "image-edit-max*": perImage("0.5"),
      "image-edit-plus*": perImage("0.2"),
    },
  },
  onUsage: (record) => console.log(JSON.stringify(record)),
  ...config,
  channels,
});

const app = express();
app.use(toExpressHandler(gateway));
const server = app.listen(Number(env.PORT || 8787), (error) => {
  if (error) throw error;
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    server.close();
    void gateway.close().then(() => emulator?.close());
  });
}
