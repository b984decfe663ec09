import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import type { UsageRecord } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenBrowser, openBrowser } from "../browser/open-browser.js";
import { ROOT } from "../support/workspace.js";
import { type RunningExample, startExample } from "./start-example.js";

const MODEL = "seedream-4-5-251128";
const BATCH = { model: MODEL, prompt: "Three pictures of an oak tree", n: 3, size: "2048x2048" } as const;

/** A bucket: keeps what is put under a path, and returns it under this path. */
const objects = new Map<string, { readonly type: string | undefined; readonly bytes: Buffer }>();
const bucket = createServer((request, response) => void respond(request, response));

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "", "http://localhost");
  if (request.method === "PUT") {
    objects.set(pathname, { type: request.headers["content-type"], bytes: await buffer(request) });
    return void response.end();
  }
  const object = objects.get(pathname);
  if (object === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": object.type }).end(object.bytes);
}

const emulator = createEmulator({ images: "plain" });
const opened = await openBrowser();

// Builds the app first, as `npm run start:next` does.
let app: RunningExample;
let client: OpenAI;
let endpoint: string;
let provider: Awaited<ReturnType<typeof emulator.listen>>;
beforeAll(async () => {
  provider = await emulator.listen();
  await once(bucket.listen(0, "127.0.0.1"), "listening");
  const address = bucket.address();
  endpoint = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  app = await startExample(join(ROOT, "examples/next-app/start.ts"), {
    ARK_BASE_URL: provider.arkBaseUrl,
    S3_ENDPOINT: endpoint,
    S3_BUCKET: "pictures",
    S3_ACCESS_KEY_ID: "a-key-id",
    S3_SECRET_ACCESS_KEY: "a-secret",
  });
  client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });
}, 120_000);
afterAll(async () => {
  await app?.stop();
  await opened?.close();
  await provider?.close();
  bucket.close();
});

it("makes an image for the official client and prints its usage record", async () => {
  const { data, response } = await client.images
    .generate({ model: MODEL, prompt: "an oak tree", size: "2048x2048" })
    .withResponse();

  expect(data.data?.[0]?.url).toMatch(/^http/);
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({
    model: MODEL,
    usage: { generated_images: 1 },
    charge: "0.25",
  });
});

it("stores images in the bucket, and returns presigned links to them", async () => {
  const { data } = await client.images.generate({ model: MODEL, prompt: "an oak tree", size: "2048x2048" });
  const link = new URL(data?.[0]?.url ?? "");
  const image = await fetch(link);

  expect(link.origin).toBe(endpoint);
  expect(link.pathname).toMatch(/^\/pictures\/[0-9a-f]{32}$/);
  expect(link.searchParams.get("X-Amz-Credential")).toMatch(/^a-key-id\/\d{8}\/us-east-1\/s3\/aws4_request$/);
  expect(image.headers.get("content-type")).toBe("image/jpeg");
  expect((await image.bytes()).length).toBeGreaterThan(10_000);
});

it("streams the images of a batch", async () => {
  const { data: events, response } = await client.images.generate({ ...BATCH, stream: true }).withResponse();
  const types: string[] = [];
  for await (const event of events) types.push(event.type);

  expect(types).toHaveLength(4);
  expect(types.at(-1)).toBe("image_generation.completed");
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({ charge: "0.75" });
});

it("charges a stream whose client left", async () => {
  const { data: events, response } = await client.images.generate({ ...BATCH, stream: true }).withResponse();
  events.controller.abort();

  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({ charge: "0.75" });
});

it("lists the models with their prices for the official client", async () => {
  const { data } = await client.models.list();

  expect(data).toContainEqual(
    expect.objectContaining({
      id: BATCH.model,
      object: "model",
      price: { pricing_mode: "per-request", model_price: expect.any(String) },
    }),
  );
});

it("responds to what is not the gateway's with 404", async () => {
  const response = await fetch(new URL("/v1/images/variations", app.baseUrl));

  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "not_found" } });
});

/** How many calls the provider has got since the page's last order. */
const sent = (): number => emulator.requests.filter(({ method }) => method === "POST").length;

/** The usage records of the users' tasks. */
function tasks(): UsageRecord[] {
  const records = app.lines.slice(1).map((line): UsageRecord => JSON.parse(line));
  return records.filter(({ task }) => task !== undefined);
}

describe.runIf(opened !== undefined)("the page, in Chromium", () => {
  /** The time between two images of a batch. */
  const PAUSE_MS = 600;
  const EMAIL = "ada@mail.example";
  let page: Awaited<ReturnType<OpenBrowser["browser"]["newPage"]>>;
  const errors: string[] = [];

  beforeAll(async () => {
    if (opened === undefined) throw new Error("The browser is not open.");
    page = await opened.browser.newPage();
    page.on("pageerror", ({ message }) => errors.push(message));
    await page.addInitScript(`{
      const shown = [];
      Object.assign(globalThis, { shown });
      new MutationObserver(() => {
        const images = document.querySelectorAll(".images img").length;
        if (images !== (shown.at(-1)?.images ?? 0)) shown.push({ images, at: performance.now() });
      }).observe(document, { childList: true, subtree: true });
    }`);
    await page.goto(new URL("/", app.baseUrl.replace("localhost", "127.0.0.1")).href);
  });

  /** Each number of images that the page has shown since it was loaded, and when. */
  const shown = () => page.evaluate<{ images: number; at: number }[]>("shown");
  const images = () => page.locator(".images img").count();
  const status = () => page.getByRole("status").textContent();
  const spent = () => page.locator("header p").first().textContent();
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
  const enter = async (email: string, button: string): Promise<void> => {
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password").fill("correct horse battery");
    await press(button);
  };

  /** Makes four images, of which the first arrives at once, and each other one later. */
  const make = async (prompt: string, pauseMs = PAUSE_MS): Promise<void> => {
    emulator.reset();
    emulator.faults.add(...[1, 2, 3].map((times) => ({ latencyMs: pauseMs, times })));
    await page.getByLabel("Prompt").fill(prompt);
    await press("Make 4 images");
  };

  /** The status and the body of a request with the cookies of the page. */
  const request = (path: string, body?: object) =>
    page.evaluate(
      async ([to, json]) => {
        const headers = { "content-type": "application/json" };
        const response = await fetch(to, json === undefined ? {} : { method: "POST", headers, body: json });
        return { status: response.status, body: await response.text() };
      },
      [path, body && JSON.stringify(body)] as const,
    );

  it("shows a new user four images one after another, and what they cost", async () => {
    await enter(EMAIL, "Create account");
    await expect.poll(spent).toBe("0 of 5 spent");
    await make("A lighthouse");
    await expect.poll(status).toBe("4 images made");

    const times = await shown();
    expect(times.map((time) => time.images)).toEqual([1, 2, 3, 4]);
    // Three pauses. Half of them, because the browser may be slow.
    expect((times[3]?.at ?? 0) - (times[0]?.at ?? 0)).toBeGreaterThan(PAUSE_MS * 1.5);
    await expect
      .poll(() => page.evaluate("[...document.images].filter((image) => image.naturalWidth > 0).length"))
      .toBe(4);
    await expect.poll(spent).toBe("0.48 of 5 spent");
    expect(tasks()).toMatchObject([{ caller: expect.stringMatching(/^user:/), images: 4, charge: "0.48" }]);
  });

  it("shows no further image after Stop, and says that the images are charged", async () => {
    await make("A harbour");
    await expect.poll(images).toBeGreaterThan(0);
    await press("Stop");

    await expect.poll(status).toBe("Stopped. The images that were ordered are still made and charged.");
    await expect.poll(spent).toBe("0.48 of 5 spent, 0.48 reserved");
    await expect.poll(tasks).toHaveLength(2);
    expect(tasks()[1]).toMatchObject({ images: 4, charge: "0.48" });
    expect(await images()).toBeLessThan(4);
    expect(sent()).toBe(4);

    await page.reload();
    await expect.poll(status).toBe("Your images appear here, one after another.");
    expect(await spent()).toBe("0.96 of 5 spent");
  });

  it("finds a task again after a reload, and charges it once", async () => {
    await make("A pier", 1_000);
    await expect.poll(images).toBeGreaterThan(0);
    await page.reload();
    await expect.poll(status).toBe("4 images made");

    const found = (await shown()).map((time) => time.images);
    expect(found.length).toBeGreaterThan(1);
    expect(found.at(-1)).toBe(4);
    expect(await page.getByLabel("Prompt").inputValue()).toBe("A pier");
    await expect.poll(spent).toBe("1.44 of 5 spent");
    expect(tasks()).toHaveLength(3);
    expect(sent()).toBe(4);
  });

  it("shows nothing to others: neither signed out, nor to another user", async () => {
    const task = `/v1/images/tasks/${tasks().at(-1)?.task}`;
    expect(await request(task)).toMatchObject({ status: 200 });
    await press("Sign out");
    await page.getByLabel("Email").waitFor();
    expect(await images()).toBe(0);
    expect(await request(task)).toMatchObject({ status: 401 });
    const refused = await request("/v1/images/generations", { model: MODEL, prompt: "A fox" });
    expect(refused).toMatchObject({ status: 401, body: expect.stringContaining('"not_signed_in"') });
    expect(sent()).toBe(4);

    await enter("eve@mail.example", "Create account");
    await expect.poll(spent).toBe("0 of 5 spent");
    expect(await images()).toBe(0);
    expect(await request(task)).toMatchObject({ status: 404 });
    expect(JSON.parse((await request("/v1/images/tasks")).body)).toMatchObject({ data: [] });

    await press("Sign out");
    await enter(EMAIL, "Sign in");
    await expect.poll(images).toBe(4);
    expect(await spent()).toBe("1.44 of 5 spent");
  });

  it("shows why a task failed", async () => {
    await page.getByLabel("Prompt").fill("SensitiveContentDetected");
    await press("Make 4 images");

    await expect.poll(() => page.getByRole("alert").first().textContent()).toContain("sensitive");
    expect(await images()).toBe(0);
    expect(errors).toEqual([]);
  });
});

it("prints only usage records on stdout after it listens, and ends when it is stopped", async () => {
  await pause(50);

  expect(app.lines[0]).toMatch(/^calotype listens on http:\/\/localhost:\d+\/v1$/);
  const statuses = app.lines.slice(1).map((line) => JSON.parse(line).status);
  // Those of the official client. The others are of the page.
  expect(statuses.slice(0, 4)).toEqual([200, 200, 200, 200]);
  expect(await app.stop()).toBe(0);
});
