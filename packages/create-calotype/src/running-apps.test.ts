import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "@calotype/conformance/support/run";
import { isFull } from "@calotype/conformance/support/test-run";
import { findInstalled } from "@calotype/runtimes/installed-runtimes";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type FrameworkName, namesOf, PROVIDERS } from "./choices.js";
import { GENERATED, generateApp } from "./testing/generate-app.js";
import { type RunningApp, startApp } from "./testing/running-app.js";
import { drawPng, useApp, WORKING } from "./testing/use-app.js";

/*
 * Runs one app for each framework with the packages of the workspace. `installed-apps.test.ts` installs apps from tarballs.
 */

const bun = findInstalled("Bun");
/** The others have tests of their own, in `packages/conformance/src/hosts` and in `examples`. */
const NODE_APPS: readonly FrameworkName[] = isFull()
  ? ["express", "fastify", "hono", "koa", "lambda", "next", "node"]
  : ["express", "fastify", "hono", "lambda"];

const folderOf = (name: string): string => join(GENERATED, `running-${name}`);
afterAll(() => rmSync(folderOf(""), { recursive: true, force: true }));

function generate(framework: FrameworkName, name = `running-${framework}`): string {
  const folder = generateApp(name, {
    framework,
    providers: ["seedream", "qwen-image"],
    store: "memory",
    signIn: "none",
  });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts an app, uses it, and ends it with SIGTERM. */
async function runApp(command: readonly string[], folder: string) {
  const app = await startApp(command, folder);
  try {
    return await useApp(app);
  } finally {
    await app.stop();
  }
}

describe.concurrent("an app makes an image and edits an upload", () => {
  it.each(NODE_APPS)("%s", async (framework) => {
    expect(await runApp([process.execPath, "dev.ts"], generate(framework))).toEqual(WORKING);
  });

  it("nestjs, compiled", async () => {
    const folder = generate("nestjs");
    const tsc = join(import.meta.dirname, "../../../node_modules/typescript/bin/tsc");
    run(process.execPath, [tsc], folder);
    expect(await runApp([process.execPath, "dist/dev.js"], folder)).toEqual(WORKING);
  });

  it("workers, on Node", async () => {
    const folder = generate("workers");
    const host = join(folder, "host.ts");
    writeFileSync(host, WORKER_HOST);
    expect(await runApp([process.execPath, host], folder)).toEqual(WORKING);
  });

  it("lambda, with the events of a function URL", async () => {
    const folder = generate("lambda", "running-lambda-events");
    const host = join(folder, "host.ts");
    writeFileSync(host, LAMBDA_HOST);
    const app = await startApp([process.execPath, host], folder);
    try {
      // The studio is only in the server for this machine.
      expect(await useApp(app)).toEqual({ ...WORKING, studio: [] });
    } finally {
      await app.stop();
    }
  });

  it.skipIf(bun.leftOut)("bun", async () => {
    expect(await runApp([bun.program, "dev.ts"], generate("bun"))).toEqual(WORKING);
  });
});

it("its script dev starts without .env, reads one, and ends with Ctrl+C", async () => {
  const folder = generate("hono", "running-dev-script");
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const command = scripts.dev.replace(/^node /, "").split(" ");
  const start = () => startApp([process.execPath, ...command], folder, { CALOTYPE_API_KEY: undefined });

  const without = await start();
  expect(await without.stop("SIGINT")).toBe(0);
  expect(without.output()).toContain("CALOTYPE_API_KEY is not set");
  expect(without.output()).not.toContain("Assertion failed");

  writeFileSync(join(folder, ".env"), "CALOTYPE_API_KEY=sk-of-the-file\n");
  const withFile = await start();
  const status = await fetch(`${withFile.baseUrl}/models`, {
    headers: { authorization: "Bearer sk-of-the-file" },
  }).then((response) => response.status);
  await withFile.stop();
  expect(status).toBe(200);
});

describe("an app with all providers", () => {
  let app: RunningApp;
  let folder: string;
  beforeAll(async () => {
    const providers = namesOf(PROVIDERS);
    folder = generateApp("running-providers", {
      framework: "node",
      providers,
      store: "memory",
      signIn: "none",
    });
    app = await startApp([process.execPath, "dev.ts"], folder);
  });
  afterAll(async () => {
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const images = () => new OpenAI({ baseURL: app.baseUrl, apiKey: "sk-local", maxRetries: 0 }).images;
  const MODELS = namesOf(PROVIDERS).map((name) => PROVIDERS[name].model);
  const SIZES = [undefined, "auto", "1024x1024", "1536x1024", "1024x1536", "256x256"] as const;

  it.each(MODELS)(
    "makes an image of each of OpenAI's sizes with %s for the official client",
    async (model) => {
      for (const size of SIZES) {
        const { data } = await images().generate({ model, prompt: "an oak", ...(size && { size }) });
        expect([size, data]).toEqual([size, [expect.objectContaining({ b64_json: expect.any(String) })]]);
      }
    },
  );

  it.each(MODELS)("streams two images of %s to the official client", async (model) => {
    const events = await images().generate({
      model,
      prompt: "an oak",
      n: 2,
      size: "1024x1024",
      stream: true,
    });
    const types: string[] = [];
    for await (const { type } of events) types.push(type);
    expect(types).toEqual(["image_generation.completed", "image_generation.completed"]);
  });

  it.each(MODELS.map((model) => (model === "qwen-image-max" ? "qwen-image-edit-max" : model)))(
    "edits an upload with %s for the official client",
    async (model) => {
      const image = await toFile(await drawPng(), "oak.png", { type: "image/png" });
      const { data } = await images().edit({ model, prompt: "in winter", image, size: "1024x1024" });
      expect(data).toEqual([expect.objectContaining({ b64_json: expect.any(String) })]);
    },
  );
});

/** Calls the handler with the events of a function URL, as Lambda's runtime does. */
const LAMBDA_HOST = `import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { emulateProviders } from "./emulate-providers.ts";

Object.assign(process.env, await emulateProviders());
globalThis.awslambda = {
  streamifyResponse: (handle) => handle,
  HttpResponseStream: { from: (res, { statusCode, headers }) => res.writeHead(statusCode, headers) },
};
const { handler } = await import("./lambda.ts");
const server = createServer(async (req, res) => {
  const { pathname, searchParams } = new URL(req.url, "http://localhost");
  const isText = /json|text/.test(req.headers["content-type"]);
  await handler({
    version: "2.0",
    rawPath: pathname,
    rawQueryString: String(searchParams),
    headers: req.headers,
    requestContext: { domainName: "localhost", http: { method: req.method, path: pathname } },
    body: (await buffer(req)).toString(isText ? "utf8" : "base64"),
    isBase64Encoded: !isText,
  }, res, {});
}).listen(Number(process.env.PORT));
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => server.close());
`;

/** Calls the worker as workerd does. `npm run test:full` runs it with wrangler. */
const WORKER_HOST = `import { serve } from "@hono/node-server";
import { emulateProviders } from "./emulate-providers.ts";

Object.assign(process.env, await emulateProviders(), { STUDIO: "local" });
const { default: app } = await import("./server.ts");
const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
const server = serve({ fetch: (request) => app.fetch(request, {}, context), port: Number(process.env.PORT) });
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => server.close());
`;

it("the tests of its prices pass", () => {
  const folder = generateApp("running-prices", {
    framework: "node",
    providers: ["seedream", "qwen-image", "openai", "gemini"],
    store: "memory",
    signIn: "none",
  });
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));

  expect(run(process.execPath, ["--test"], folder)).toMatch(/pass 8\n.*fail 0/s);
});
