import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type RunningExample, startExample } from "@calotype/example-options/testing";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it } from "vitest";

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

// Builds the app first, as `npm run start:next` does.
let app: RunningExample;
let client: OpenAI;
let endpoint: string;
beforeAll(async () => {
  await once(bucket.listen(0, "127.0.0.1"), "listening");
  const address = bucket.address();
  endpoint = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  app = await startExample(fileURLToPath(new URL("start.ts", import.meta.url)), {
    S3_ENDPOINT: endpoint,
    S3_BUCKET: "pictures",
    S3_ACCESS_KEY_ID: "a-key-id",
    S3_SECRET_ACCESS_KEY: "a-secret",
  });
  client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });
}, 120_000);
afterAll(async () => {
  await app?.stop();
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

it("follows a task by the route of its page, which needs no key", async () => {
  const submitted = await fetch(`${app.baseUrl}/images/generations`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${app.apiKey}`,
      "content-type": "application/json",
      prefer: "respond-async",
    },
    body: JSON.stringify(BATCH),
  });
  const { id }: { id: string } = JSON.parse(await submitted.text());
  const events = await (await fetch(new URL(`/pictures/${id}/events`, app.baseUrl))).text();
  const last = events.trim().split("\ndata: ").at(-1) ?? "";

  expect(submitted.status).toBe(202);
  expect(events).toMatch(/^retry: \d+\nevent: status\n/);
  expect(JSON.parse(last)).toMatchObject({ id, status: "completed", result: { data: [{}, {}, {}] } });
  expect(await (await fetch(new URL("/", app.baseUrl))).text()).toContain("Make pictures");
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

it("prints only usage records on stdout after it listens, and ends when it is stopped", async () => {
  await pause(50);

  expect(app.lines[0]).toMatch(/^calotype listens on http:\/\/localhost:\d+\/v1$/);
  expect(app.lines.slice(1).map((line) => JSON.parse(line).status)).toEqual([200, 200, 200, 200, 200]);
  expect(await app.stop()).toBe(0);
});
