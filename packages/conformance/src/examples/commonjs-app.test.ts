import { join } from "node:path";
import { createEmulator } from "@calotype/emulator";
import OpenAI from "openai";
import { expect, it, onTestFinished } from "vitest";
import { ROOT } from "../support/workspace.js";
import { startExample } from "./start-example.js";

it("makes an image for the official client, in an app of CommonJS modules", async () => {
  const emulator = await createEmulator({ images: "tiny" }).listen();
  onTestFinished(() => emulator.close());
  const app = await startExample(join(ROOT, "examples/commonjs-app/server.js"), {
    ARK_API_KEY: "any",
    ARK_BASE_URL: emulator.arkBaseUrl,
  });
  onTestFinished(async () => void (await app.stop()));
  const client = new OpenAI({ baseURL: app.baseUrl, apiKey: app.apiKey, maxRetries: 0 });

  const { data, response } = await client.images
    .generate({
      model: "seedream-4-5-251128",
      prompt: "an oak tree",
      size: "1024x1024",
      response_format: "url",
    })
    .withResponse();

  expect((await fetch(data.data?.[0]?.url ?? "")).headers.get("content-type")).toMatch(/^image\//);
  expect(await app.findRecord(response.headers.get("x-request-id"))).toMatchObject({ charge: "0.25" });
});
