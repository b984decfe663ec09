import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileStore } from "@calotype/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { CALLER_KEY, start } from "./start.ts";

const GENERATIONS = "/v1/images/generations";
const BODY = { model: "gpt-image-2", prompt: "a red fox", quality: "low" };

it("a link gets a 400 that names b64_json, if there is no results store", async () => {
  const { post, emulator } = await start();
  const response = await post(GENERATIONS, { ...BODY, response_format: "url" });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("b64_json")]);
  expect(emulator.requests).toEqual([]);
});

it("the list of models says what a model takes", async () => {
  const { url } = await start();
  const response = await fetch(`${url}/v1/models/gpt-image-2`, {
    headers: { authorization: `Bearer ${CALLER_KEY}` },
  });
  expect(await response.json()).toMatchObject({
    owned_by: "openai",
    capabilities: {
      operations: ["generate", "edit"],
      sizes: { max_pixels: 8_294_400, max_side: 3840, max_aspect_ratio: 3, multiple_of: 16 },
      max_images: 10,
      references: { min: 0, max: 16 },
      stream: true,
      background: ["auto", "transparent", "opaque"],
      output_formats: ["png", "jpeg", "webp"],
      qualities: ["low", "medium", "high"],
    },
  });
});

it("the profile of a client replaces a size that the model does not accept", async () => {
  const { post, emulator } = await start({
    models: ["gpt-image-1.5"],
    options: { callers: [{ id: "me", key: CALLER_KEY, client: "open-webui" }] },
  });
  const response = await post(GENERATIONS, { ...BODY, model: "gpt-image-1.5", size: "1792x1024" });
  expect([response.status, response.headers.get("x-calotype-size")]).toEqual([200, "1536x1024"]);
  expect(emulator.requests[0]?.body).toMatchObject({ size: "1536x1024" });
});

it("several calls of a model with one image per call are one charge", async () => {
  const { post, emulator, records } = await start({
    service: "zhipu",
    models: ["cogview-4"],
    options: {
      billing: { model_details: { "cogview-4": { pricing_mode: "per-request", model_price: "0.06" } } },
    },
  });
  const response = await post(GENERATIONS, { model: "cogview-4", prompt: "a red fox", n: 3 });
  expect((await response.json()) as object).toMatchObject({ data: [{}, {}, {}] });
  expect(emulator.requests).toHaveLength(3);
  expect(records).toMatchObject([{ images: 3, charge: "0.18" }]);
});

describe("a second channel", () => {
  it.each([
    ["server_is_overloaded", 200],
    ["insufficient_quota", 200],
    ["invalid_api_key", 200],
    ["server_error", 502],
    ["moderation_blocked", 400],
  ])("after %s leads to %d", async (code, status) => {
    const { emulator, baseUrl } = await start();
    const second = await start({
      options: {
        channels: ["a", "b"].map((id) => ({ id, family: "openai", apiKey: `provider-key-${id}`, baseUrl })),
      },
    });
    emulator.faults.add({ code, times: 1 });
    expect((await second.post(GENERATIONS, BODY)).status).toBe(status);
    expect((await second.post(GENERATIONS, BODY)).status).toBe(200);
  });
});

it("a task has OpenAI's base64, from the results store, and is charged once", async () => {
  const directory = await mkdtemp(join(tmpdir(), "calotype-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const { url, records } = await start({ options: { results: { store: createFileStore({ directory }) } } });
  const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
  const submitted = await fetch(url + GENERATIONS, {
    method: "POST",
    headers: { ...headers, prefer: "respond-async" },
    body: JSON.stringify({ ...BODY, n: 2 }),
  });
  expect(submitted.status).toBe(202);
  const { id } = (await submitted.json()) as { id: string };
  const ended = await fetch(`${url}/v1/images/tasks/${id}?wait=20`, { headers });
  const image = { b64_json: expect.any(String), stored_url: expect.stringContaining("/v1/images/files/") };
  expect(await ended.json()).toMatchObject({ status: "completed", result: { data: [image, image] } });
  expect(records).toMatchObject([{ images: 2, usage: { generated_images: 2 } }]);
});
