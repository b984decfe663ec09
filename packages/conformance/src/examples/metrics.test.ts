import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ROOT } from "../support/workspace.js";
import { type RunningExample, startExample } from "./start-example.js";

const MODEL = "seedream-4-5-251128";

let app: RunningExample;
beforeAll(async () => {
  app = await startExample(join(ROOT, "examples/metrics/server.ts"));
});
afterAll(() => app.stop());

const readMetrics = (): Promise<Response> => fetch(new URL("/metrics", app.baseUrl));

it("shows the state of the channels before the first request", async () => {
  const response = await readMetrics();

  expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
  expect(await response.text()).toMatch(
    /^calotype_channel_state\{calotype_channel="ark",calotype_channel_state="ready"[^}]*\} 1$/m,
  );
});

it("counts the images and the charges of requests, and the refused ones", async () => {
  const client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });
  await client.images.generate({ model: MODEL, prompt: "an oak tree", size: "2048x2048" });
  await expect(client.images.generate({ model: "unknown", prompt: "an oak tree" })).rejects.toThrow("404");

  await vi.waitFor(async () => {
    const text = await (await readMetrics()).text();
    const model = `[^}]*gen_ai_request_model="${MODEL}"[^}]*`;
    expect(text).toMatch(new RegExp(`^calotype_images_total\\{${model}\\} 1$`, "m"));
    expect(text).toMatch(new RegExp(`^calotype_charge_total\\{${model}\\} 0\\.25$`, "m"));
    expect(text).toMatch(
      /^gen_ai_client_operation_duration_count\{[^}]*error_type="model_not_found"[^}]*\} 1$/m,
    );
    expect(text).not.toContain("oak");
  });
});

it("ends when it is stopped", async () => {
  expect(await app.stop()).toBe(0);
});
