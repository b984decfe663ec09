import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmulator, type Emulator, type EmulatorServer } from "@calotype/emulator";
import OpenAI from "openai";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "../support/workspace.js";
import { type RunningExample, startExample } from "./start-example.js";

const SERVER = join(ROOT, "examples/express-app/server.ts");
const MODELS = [
  // The model makes 2048x2048 without a size, which is above 2.61 million pixels.
  ["seedream-5-0-pro-260628", "doubao-seedream-5-0-pro-260628", "0.6"],
  ["seedream-5-0-flash-260915", "doubao-seedream-5-0-flash-260915", "0.12"],
  ["seedream-5-0-lite-260128", "doubao-seedream-5-0-lite-260128", "0.22"],
  ["seedream-4-5-251128", "doubao-seedream-4-5-251128", "0.25"],
  ["seedream-4-0-250828", "doubao-seedream-4-0-250828", "0.2"],
  ["image-2.0", "qwen-image-2.0", "0.2"],
  ["image-2.0-pro", "qwen-image-2.0-pro", "0.5"],
  ["image-max", "qwen-image-max", "0.5"],
  ["image-plus", "qwen-image-plus", "0.2"],
] as const;

const ARK_KEY = "ark-canary-48d2a70f";
const OPERATOR_KEY = "operator-canary-7be21c50";

let emulator: Emulator;
let providers: EmulatorServer;
beforeAll(async () => {
  emulator = createEmulator({ images: "tiny" });
  providers = await emulator.listen();
});
afterAll(() => providers.close());

const running: RunningExample[] = [];
async function start(environment: Record<string, string>): Promise<{ app: RunningExample; client: OpenAI }> {
  const app = await startExample(SERVER, environment);
  running.push(app);
  return { app, client: new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 }) };
}
afterEach(async () => {
  for (const app of running.splice(0)) await app.stop();
});

function openOperatorPage(app: RunningExample, key: string): Promise<Response> {
  return fetch(new URL("/operator", app.baseUrl), { headers: { authorization: `Bearer ${key}` } });
}

describe("the Express app", () => {
  it("without a provider returns emulated images, says so on stderr, and ends when it is stopped", async () => {
    const { app, client } = await start({ CALOTYPE_API_KEY: "" });
    const { data } = await client.images.generate({
      model: "seedream-4-0-250828",
      prompt: "an oak",
      size: "1024x1024",
    });
    expect((await fetch(data?.[0]?.url ?? "")).headers.get("content-type")).toMatch(/^image\//);
    expect(app.errors()).toContain("emulated images");
    expect(app.lines[0]).toMatch(/^calotype listens on http:\/\/localhost:\d+\/v1$/);
    expect(await app.stop()).toBe(0);
  });

  it("serves every model under its provider's name, with a price, if only the origins of the providers are set", async () => {
    const { app, client } = await start({
      ARK_BASE_URL: providers.url,
      ARK_API_KEY: ARK_KEY,
      DASHSCOPE_BASE_URL: providers.url,
      DASHSCOPE_API_KEY: "dashscope-canary-e6190c4b",
    });
    for (const [model, upstreamModel, charge] of MODELS) {
      const { response } = await client.images.generate({ model, prompt: "an oak" }).withResponse();
      expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
        model,
        upstreamModel,
        charge,
      });
    }
    const [first] = emulator.requests;
    expect(first).toMatchObject({ headers: { authorization: `Bearer ${ARK_KEY}` } });
    // The link of the studio, and nothing else.
    expect(app.errors()).toMatch(/^The studio: http:\/\/localhost:\d+\/studio\?token=\S+ .*\n$/);
  });

  it("serves only the family whose provider is set", async () => {
    const { client } = await start({ DASHSCOPE_BASE_URL: providers.dashscopeBaseUrl });
    await client.images.generate({ model: "image-max", prompt: "an oak" });
    await expect(client.images.generate({ model: MODELS[0][0], prompt: "an oak" })).rejects.toMatchObject({
      status: 404,
    });
  });

  it("replaces its options by those of CALOTYPE_CONFIG", async () => {
    const folder = mkdtempSync(join(tmpdir(), "calotype-express-"));
    try {
      const file = join(folder, "options.json");
      const options = {
        models: { drawing: { family: "seedream" } },
        channels: [
          {
            id: "only",
            family: "seedream",
            apiKey: ARK_KEY,
            baseUrl: providers.arkBaseUrl,
            modelMapping: { drawing: "doubao-seedream-4-5-251128" },
          },
        ],
        billing: { model_details: { drawing: { pricing_mode: "per-request", model_price: "9.99" } } },
      };
      writeFileSync(file, JSON.stringify(options));
      const { app, client } = await start({ CALOTYPE_CONFIG: file });
      const { response } = await client.images
        .generate({ model: "drawing", prompt: "an oak" })
        .withResponse();
      expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
        channel: "only",
        charge: "9.99",
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("stores charges in a file, and shows them only to its operator", async () => {
    const folder = mkdtempSync(join(tmpdir(), "calotype-express-"));
    const environment = {
      CALOTYPE_LEDGER: join(folder, "ledger.db"),
      CALOTYPE_OPERATOR_KEY: OPERATOR_KEY,
    };
    try {
      const first = await start(environment);
      await first.client.images.generate({ model: "image-max", prompt: "an oak" });
      await first.app.stop();

      const { app } = await start(environment);
      expect(await (await openOperatorPage(app, OPERATOR_KEY)).json()).toMatchObject({
        callers: [{ key: "default", requests: 1, settled: "0.5", held: "0" }],
        channels: [
          { id: "ark", state: "ready" },
          { id: "dashscope", state: "ready" },
        ],
      });
      expect((await openOperatorPage(app, app.apiKey)).status).toBe(401);
      expect((await fetch(new URL("/operator", app.baseUrl))).status).toBe(401);
      await app.stop();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("keeps images in a folder, whose links are valid after the providers and the app have ended", async () => {
    const folder = mkdtempSync(join(tmpdir(), "calotype-express-"));
    try {
      const first = await start({ CALOTYPE_RESULTS: folder });
      const { data } = await first.client.images.generate({ model: "image-max", prompt: "an oak" });
      const link = new URL(data?.[0]?.url ?? "");
      expect(link.origin).toBe(new URL(first.app.baseUrl).origin);
      await first.app.stop();

      const { app } = await start({ CALOTYPE_RESULTS: folder });
      const response = await fetch(new URL(link.pathname + link.search, app.baseUrl));
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toMatch(/^image\//);
      expect((await response.bytes()).length).toBe(Number(response.headers.get("content-length")));
      await app.stop();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("shows its interface on a page with Swagger UI, from its own files", async () => {
    const { app } = await start({ CALOTYPE_API_KEY: "" });
    const page = await fetch(new URL("/reference", app.baseUrl));
    const script = await fetch(new URL("/reference/page.js", app.baseUrl));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("reference/page.js")]);
    expect([script.status, await script.text()]).toEqual([200, expect.stringContaining("SwaggerUIBundle")]);
  });

  it.each([
    ['{"channels": [', "is not JSON: it ends too early."],
    ["", "is empty: it must contain JSON."],
    ["[]", "must contain an object with options of the gateway"],
    ["null", "must contain an object with options of the gateway"],
  ])("says in one line what is wrong with a CALOTYPE_CONFIG of %j", async (text, problem) => {
    const folder = mkdtempSync(join(tmpdir(), "calotype-express-"));
    try {
      const file = join(folder, "options.json");
      writeFileSync(file, text);
      const started = start({ CALOTYPE_CONFIG: file });
      await expect(started).rejects.toThrow(`listened: ${file} ${problem}`);
      await expect(started).rejects.not.toThrow(/\n +at /);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("has no page for operators if no operator key is set, and says in one line that a port is taken", async () => {
    const { app } = await start({});
    expect((await fetch(new URL("/operator", app.baseUrl))).status).toBe(404);
    await expect(start({ PORT: new URL(app.baseUrl).port })).rejects.toThrow(/EADDRINUSE[^\n]*\n$/);
  });
});
