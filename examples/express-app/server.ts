// An Express app with an image-generation gateway, configured by its environment: PORT, CALOTYPE_API_KEY,
// ARK_BASE_URL, ARK_API_KEY, DASHSCOPE_BASE_URL, DASHSCOPE_API_KEY; CALOTYPE_LEDGER, an SQLite file or a PostgreSQL
// URL, where charges, budgets and callers outlive the process; CALOTYPE_RESULTS, a folder in which images outlive the
// providers' links; CALOTYPE_OPERATOR_KEY, which opens GET /operator; CALOTYPE_STUDIO_CALLER, the caller that pays in Try;
// CALOTYPE_STUDIO_CURRENCY, the currency of the prices, for the studio; and CALOTYPE_CONFIG, a JSON file whose options replace those
// below, each as a whole.
import { readFile } from "node:fs/promises";
import { type ChannelOptions, createGateway, type GatewayOptions, hashApiKey } from "@calotype/core";
import { bfl } from "@calotype/core/families/bfl";
import { gemini } from "@calotype/core/families/gemini";
import { openai } from "@calotype/core/families/openai";
import { createReference } from "@calotype/core/reference";
import { createEmulator } from "@calotype/emulator";
import { toExpressHandler } from "@calotype/express";
import { closeOnSignals, createFileStore, jsonFile } from "@calotype/node";
import { createSqliteLedger } from "@calotype/sqlite";
import { createStudio } from "@calotype/studio";
import express from "express";

/** The options of the gateway that can be written in JSON. */
interface Config extends Partial<GatewayOptions> {
  channels?: readonly ChannelOptions[];
}

const { env } = process;
const config = env.CALOTYPE_CONFIG ? await readConfig(env.CALOTYPE_CONFIG).catch(fail) : {};

// A provider is used if its address or its key is set. If neither provider is, both are emulated here.
const arkIsLive = Boolean(env.ARK_BASE_URL || env.ARK_API_KEY);
const dashscopeIsLive = Boolean(env.DASHSCOPE_BASE_URL || env.DASHSCOPE_API_KEY);
const isEmulated = !arkIsLive && !dashscopeIsLive && config.channels === undefined;
const emulator = isEmulated ? await createEmulator().listen() : undefined;
if (isEmulated)
  console.error(
    "No provider is set (ARK_API_KEY, DASHSCOPE_API_KEY): emulated images, API key sk-local unless CALOTYPE_API_KEY is set.",
  );

// BytePlus, the international site of Ark, names the models with "dola-" or, the older ones, without a prefix.
const isBytePlus = env.ARK_BASE_URL?.includes("bytepluses.com") ?? false;
const newSeedreams = ["seedream-5-0-pro-260628", "seedream-5-0-flash-260915"];
const oldSeedreams = ["seedream-5-0-lite-260128", "seedream-4-5-251128", "seedream-4-0-250828"];
const ark: ChannelOptions = {
  id: "ark",
  family: "seedream",
  apiKey: env.ARK_API_KEY || "none",
  baseUrl: emulator?.arkBaseUrl ?? (env.ARK_BASE_URL || undefined),
  modelMapping: Object.fromEntries([
    ...newSeedreams.map((model) => [model, `${isBytePlus ? "dola-" : "doubao-"}${model}`]),
    ...oldSeedreams.map((model) => [model, `${isBytePlus ? "" : "doubao-"}${model}`]),
  ]),
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
const serves = (family: string) => channels.some((channel) => channel.family === family);
const models = [ark, dashscope]
  .filter(({ family }) => serves(family))
  .flatMap(({ family, modelMapping = {} }) => Object.keys(modelMapping).map((model) => [model, { family }]));

if (!isEmulated && !env.CALOTYPE_API_KEY && !config.callers)
  fail("Set CALOTYPE_API_KEY: the key that your callers send.");

const { ledger, closeLedger } = env.CALOTYPE_LEDGER ? await openLedger(env.CALOTYPE_LEDGER).catch(fail) : {};
const perImage = (model_price: string) => ({ pricing_mode: "per-request" as const, model_price });
const SEEDREAM_PRICES = {
  // Larger images cost more, and layers half.
  "seedream-5-0-pro-260628": {
    pricing_mode: "per-request" as const,
    image_prices: [{ up_to_pixels: 2_610_000, price: "0.3" }, { price: "0.6" }],
    layer_price: [{ up_to_pixels: 2_610_000, price: "0.15" }, { price: "0.3" }],
  },
  "seedream-5-0-flash-260915": perImage("0.12"),
  "seedream-5-0-lite-260128": perImage("0.22"),
  "seedream-4-5-251128": perImage("0.25"),
  "seedream-4-0-250828": perImage("0.2"),
};
const QWEN_IMAGE_PRICES = {
  "image-2.0*": perImage("0.2"),
  "image-2.0-pro*": perImage("0.5"),
  "image-max": perImage("0.5"),
  "image-plus": perImage("0.2"),
  "image-edit*": perImage("0.3"),
  "image-edit-max*": perImage("0.5"),
  "image-edit-plus*": perImage("0.2"),
};
const swagger = import.meta.resolve("swagger-ui-dist/package.json");
const gateway = createGateway({
  // For channels of CALOTYPE_CONFIG. A family of your own goes here too.
  families: [openai, gemini, bfl],
  models: Object.fromEntries(models),
  callers: [{ id: "default", key: env.CALOTYPE_API_KEY || (isEmulated ? "sk-local" : undefined) }],
  billing: {
    // A price for a model that is not served would be an error.
    model_details: {
      ...(serves("seedream") && SEEDREAM_PRICES),
      ...(serves("qwen-image") && QWEN_IMAGE_PRICES),
    },
  },
  // GET /v1/models shows the prices of each caller's group.
  showPrices: true,
  // GET /healthz says which parts work.
  healthz: true,
  // GET /openapi.json describes the interface.
  openapi: true,
  // GET /reference shows it to people.
  reference: createReference({ page: "swagger-ui", read: (path) => readFile(new URL(path, swagger)) }),
  onUsage: (record) => console.log(JSON.stringify(record)),
  // At 50, 80 and 100 % of a caller's budget.
  onBudget: (budgetAlert) => console.log(JSON.stringify({ budgetAlert })),
  ledger,
  results: env.CALOTYPE_RESULTS ? { store: createFileStore({ directory: env.CALOTYPE_RESULTS }) } : undefined,
  ...config,
  channels,
});

const app = express();
app.use(toExpressHandler(gateway));
// A page for the operator, which responds to this machine only, if the link in the terminal was opened. Without a caller, Try asks for
// an API key.
const studio = createStudio(gateway, {
  caller: env.CALOTYPE_STUDIO_CALLER || (isEmulated ? { id: "studio" } : undefined),
  currency: env.CALOTYPE_STUDIO_CURRENCY || undefined,
});
app.use("/studio", toExpressHandler(studio));

// For the operator: the usage of each caller this month, its balance, and the state of the channels.
if (env.CALOTYPE_OPERATOR_KEY) {
  const operator = hashApiKey(`Bearer ${env.CALOTYPE_OPERATOR_KEY}`);
  app.get("/operator", async (request, response) => {
    // Compares hashes, so that the duration reveals nothing about the key.
    if (hashApiKey(request.get("authorization") ?? "") !== operator) return void response.sendStatus(401);
    const month = new Date().toISOString().slice(0, 7);
    const totals = await gateway.usage.totals("caller", { from: `${month}-01T00:00:00Z` });
    const balances = await Promise.all(totals.map(({ key }) => gateway.usage.balance(key)));
    const callers = totals.map((total, index) => ({ ...total, ...balances[index] }));
    response.json({ callers, ...gateway.status() });
  });
}

const server = app.listen(Number(env.PORT || 8787), (error) => {
  if (error) fail(error);
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  console.log(`calotype listens on http://localhost:${port}/v1`);
  studio.printLink(`http://localhost:${port}/studio`);
});

// On SIGTERM and Ctrl+C: requests in progress are finished and charged, then the process ends.
closeOnSignals(server, gateway, {
  onClosed: async () => {
    await closeLedger?.();
    await emulator?.close();
  },
});

async function readConfig(path: string): Promise<Config> {
  const read = await jsonFile<Config | null>(path)();
  if (typeof read === "object" && read !== null && !Array.isArray(read)) return read;
  throw new Error(`${path} must contain an object with options of the gateway: { "channels": […], … }`);
}

/** Opens an SQLite file, or a PostgreSQL database, whose packages are imported only then. */
async function openLedger(address: string) {
  if (!/^postgres(ql)?:\/\//i.test(address)) {
    const file = createSqliteLedger({ path: address });
    return { ledger: file, closeLedger: () => file.close() };
  }
  const [{ createPostgresLedger }, { Pool }] = await Promise.all([
    import("@calotype/postgres"),
    import("pg"),
  ]).catch((error) => {
    if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error("CALOTYPE_LEDGER is a PostgreSQL URL, which needs: npm install @calotype/postgres pg");
  });
  const pool = new Pool({ connectionString: address, connectionTimeoutMillis: 5_000, keepAlive: true });
  const database = createPostgresLedger({ pool });
  // Fails at startup, and not with the first request, if the database cannot be reached.
  await database.ready();
  return {
    ledger: database,
    closeLedger: async () => {
      await database.close();
      await pool.end();
    },
  };
}

/** Ends the process with one line that gives the reason. */
function fail(reason: unknown): never {
  console.error(reason instanceof Error ? reason.message : reason);
  process.exit(1);
}
