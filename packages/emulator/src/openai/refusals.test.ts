import { APIError } from "openai";
import { describe, expect, it } from "vitest";
import { createEmulator } from "../emulator.js";
import type { Fault } from "../faults/fault.js";
import { openaiClient } from "../test-support/openai-client.js";

const model = "gpt-image-2.5-flare";

/** The error of the official client for these fields. */
async function refusalOf(fields: object, faults: readonly Fault[] = []): Promise<APIError> {
  const emulator = createEmulator({ images: "tiny" });
  emulator.faults.add(...faults);
  const sent = openaiClient(emulator).post("/images/generations", {
    body: { model, prompt: "a fox", ...fields },
  });
  const error: unknown = await sent.then(() => "no error").catch((caught: unknown) => caught);
  if (!(error instanceof APIError)) throw new Error(String(error));
  return error;
}

describe("OpenAI refuses", () => {
  it.each([
    [{ response_format: "url" }, "unknown_parameter", "response_format"],
    [{ style: "vivid" }, "unknown_parameter", "style"],
    [{ image: "x" }, "unknown_parameter", "image"],
    [{ complexity: "low" }, "unknown_parameter", "complexity"],
    [{ prompt: undefined }, "missing_required_parameter", "prompt"],
    [{ model: null }, "missing_required_parameter", "model"],
    [{ prompt: "x".repeat(32_001) }, "string_above_max_length", "prompt"],
    [{ n: 0 }, "integer_below_min_value", "n"],
    [{ n: 11 }, "integer_above_max_value", "n"],
    [{ n: "2" }, "invalid_type", "n"],
    [{ size: "1500x1500" }, "invalid_value", "size"],
    [{ size: "4096x1024" }, "invalid_value", "size"],
    [{ size: "3200x1024" }, "invalid_value", "size"],
    [{ size: "3840x2880" }, "invalid_value", "size"],
    [{ size: "2K" }, "invalid_value", "size"],
    [{ model: "gpt-image-1.5", size: "1280x720" }, "invalid_value", "size"],
    [{ quality: "hd" }, "invalid_value", "quality"],
    [{ model: "gpt-image-2", quality: "max" }, "invalid_value", "quality"],
    [{ background: "transparent", output_format: "jpeg" }, "invalid_value", "background"],
    [{ output_compression: 50 }, "invalid_value", "output_compression"],
    [{ output_format: "gif" }, "invalid_value", "output_format"],
    [{ partial_images: 2 }, "invalid_value", "partial_images"],
    [{ partial_images: 4, stream: true }, "integer_above_max_value", "partial_images"],
    [{ stream: "yes" }, "invalid_type", "stream"],
  ])("%j with %s", async (fields, code, param) => {
    const error = await refusalOf(fields);
    expect(error).toMatchObject({ status: 400, code, param, type: "invalid_request_error" });
    expect(error.error).toHaveProperty("message");
  });

  it("takes null as absent", async () => {
    const fields = {
      model,
      prompt: "a fox",
      n: null,
      size: null,
      quality: null,
      background: null,
      stream: null,
    };
    const client = openaiClient(createEmulator({ images: "tiny" }));
    await expect(client.images.generate(fields)).resolves.toMatchObject({ size: "1024x1024" });
  });

  it.each(["gpt-image-1", "dall-e-3", "gpt-image-9"])("the model %s", async (name) => {
    expect(await refusalOf({ model: name })).toMatchObject({ status: 404, code: "model_not_found" });
  });

  it("a prompt that names the moderation code", async () => {
    const error = await refusalOf({ prompt: "moderation_blocked" });
    expect(error).toMatchObject({
      status: 400,
      code: "moderation_blocked",
      type: "image_generation_user_error",
    });
    expect(error.message).toMatch(/request ID req_[0-9a-f]+\. safety_violations=\[violence\]\.$/);
  });

  it("a missing or wrong key", async () => {
    const emulator = createEmulator({ apiKeys: { openai: ["sk-right"] } });
    const request = { model, prompt: "a fox" };
    await expect(openaiClient(emulator).images.generate(request)).rejects.toMatchObject({
      status: 401,
      code: "invalid_api_key",
    });
    const right = openaiClient(emulator, undefined, { apiKey: "sk-right" });
    await expect(right.images.generate(request)).resolves.toHaveProperty("data");
  });
});

describe("a fault of OpenAI", () => {
  it.each<[Fault, object]>([
    [{ code: "rate_limit_exceeded" }, { status: 429, type: "requests", code: "rate_limit_exceeded" }],
    [{ code: "insufficient_quota" }, { status: 429, type: "insufficient_quota" }],
    [{ code: "credit_balance_exhausted" }, { status: 429, type: "insufficient_quota" }],
    [
      { code: "rate_limit_exceeded", type: "insufficient_quota" },
      { status: 429, type: "insufficient_quota", code: "rate_limit_exceeded" },
    ],
    [{ code: "organization_not_verified" }, { status: 403, code: null }],
    [{ code: "billing_hard_limit_reached" }, { status: 400, code: "billing_hard_limit_reached" }],
    [{ status: 500 }, { status: 500, code: "server_error" }],
    [{ status: 503 }, { status: 503, code: "server_is_overloaded" }],
    [
      { code: "model_not_found", status: 403 },
      { status: 403, code: "model_not_found" },
    ],
    [{ failImages: [{ index: 0 }] }, { status: 400, code: "moderation_blocked" }],
  ])("%j", async (fault, expected) => {
    expect(await refusalOf({}, [fault])).toMatchObject(expected);
  });

  it("sets the headers that clients read before they retry", async () => {
    const fault: Fault = { status: 429, retryAfterSeconds: 3, retryAfterMs: 2500, shouldRetry: false };
    const { headers } = await refusalOf({}, [fault]);
    expect(headers?.get("retry-after")).toBe("3");
    expect(headers?.get("retry-after-ms")).toBe("2500");
    expect(headers?.get("x-should-retry")).toBe("false");
  });

  it("makes the official client retry", async () => {
    const emulator = createEmulator({ images: "tiny" });
    emulator.faults.add({ code: "server_is_overloaded", retryAfterMs: 1, times: 1 });
    const client = openaiClient(emulator).withOptions({ maxRetries: 1 });
    await client.images.generate({ model, prompt: "a fox" });
    expect(emulator.requests).toHaveLength(2);
  });
});

describe("a stream of OpenAI", () => {
  const fields = { model, prompt: "a fox", quality: "low", stream: true } as const;

  async function read(
    emulator = createEmulator({ images: "tiny", now: () => 1_763_683_200_000 }),
    more: object = {},
  ) {
    const stream = await openaiClient(emulator).images.generate({ ...fields, ...more });
    const events = [];
    for await (const event of stream) events.push(event);
    return events;
  }

  it("sends partial images and completed, and no [DONE]", async () => {
    const emulator = createEmulator({ now: () => 1_763_683_200_000 });
    const [first, second, last, ...others] = await read(emulator, { partial_images: 2 });
    const common = {
      b64_json: expect.any(String),
      created_at: 1_763_683_200,
      size: "1024x1024",
      quality: "low",
      background: "opaque",
      output_format: "png",
    };
    expect(first).toStrictEqual({
      type: "image_generation.partial_image",
      partial_image_index: 0,
      ...common,
    });
    expect(second).toMatchObject({ partial_image_index: 1 });
    expect(last).toMatchObject({ type: "image_generation.completed", usage: { output_tokens: 196 + 200 } });
    expect(new Set([first, second, last].map((event) => event?.b64_json)).size).toBe(3);
    expect(others).toEqual([]);
  });

  it("sends one completed for each image, each with its own usage", async () => {
    const events = await read(undefined, { n: 3 });
    expect(events.map((event) => "usage" in event && event.usage.output_tokens)).toEqual([196, 196, 196]);
  });

  it.each<[Fault, number]>([
    [{ streamErrorAfterImages: 0, code: "moderation_blocked" }, 0],
    [{ streamErrorAfterImages: 1, code: "moderation_blocked" }, 2],
    [{ streamErrorAfterEvents: 1, code: "moderation_blocked" }, 1],
    [{ failImages: [{ index: 1, code: "moderation_blocked" }] }, 2],
  ])("breaks with an error in the stream: %j", async (fault, count) => {
    const emulator = createEmulator({ images: "tiny" });
    emulator.faults.add(fault);
    const stream = await openaiClient(emulator).images.generate({ ...fields, n: 2, partial_images: 1 });
    let events = 0;
    const all = (async () => {
      for await (const { type } of stream) events += type.length > 0 ? 1 : 0;
    })();
    await expect(all).rejects.toMatchObject({
      code: "moderation_blocked",
      type: "image_generation_user_error",
    });
    expect(events).toBe(count);
  });

  it("can end with [DONE], be cut, or be JSON", async () => {
    const emulator = createEmulator({ images: "tiny" });
    emulator.faults.add(
      { sendDone: true, times: 1 },
      { stream: { cutAfterEvents: 0.5 }, times: 1 },
      { respondAs: "json", times: 1 },
    );
    expect(await read(emulator)).toHaveLength(1);
    await expect(read(emulator)).rejects.toThrow("terminated");
    const body = await openaiClient(emulator)
      .images.generate({ ...fields })
      .asResponse();
    expect(body.headers.get("content-type")).toContain("application/json");
  });

  it("names its events image_edit for edits", async () => {
    const client = openaiClient(createEmulator({ images: "tiny" }));
    const { default: sharp } = await import("sharp");
    const bytes = await sharp({ create: { width: 64, height: 64, channels: 3, background: "#f00" } })
      .png()
      .toBuffer();
    const image = new File([new Uint8Array(bytes)], "a.png", { type: "image/png" });
    const stream = await client.images.edit({ ...fields, image, partial_images: 1 });
    const types = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toEqual(["image_edit.partial_image", "image_edit.completed"]);
  });
});

describe("Azure", () => {
  const request = { prompt: "a fox", quality: "low" } as const;

  it("takes a deployment of any name, with either header, and adds the results of its filters", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const body = JSON.stringify({ ...request, model: "my-images" });
    const url = "http://emulator.test/azure/openai/v1/images/generations";
    for (const headers of [{ "api-key": "k" }, { authorization: "Bearer k" }]) {
      const response = await emulator.fetch(url, { method: "POST", headers, body });
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        data: [{ content_filter_results: { violence: { filtered: false, severity: "safe" } } }],
        usage: { output_tokens: 200 },
      });
    }
    const refused = await emulator.fetch(url, { method: "POST", body });
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: { code: "401" } }]);
  });

  it("needs api-version on the old path, where the deployment is in the path", async () => {
    const emulator = createEmulator({ images: "tiny" });
    const url = "http://emulator.test/azure/openai/deployments/gpt-image-1.5/images/generations";
    const init = { method: "POST", headers: { "api-key": "k" }, body: JSON.stringify(request) };
    expect((await emulator.fetch(url, init)).status).toBe(404);
    const response = await emulator.fetch(`${url}?api-version=2025-04-01-preview`, init);
    expect(await response.json()).toMatchObject({ usage: { output_tokens: 272 } });
  });

  it("refuses edits as JSON", async () => {
    const client = openaiClient(createEmulator(), "/azure/openai/v1");
    const body = { ...request, model: "gpt-image-2", images: [{ image_url: "https://example.com/a.png" }] };
    await expect(client.post("/images/edits", { body })).rejects.toMatchObject({ status: 400 });
  });

  it.each<[Fault, object]>([
    [{ code: "content_policy_violation" }, { status: 400, code: "content_policy_violation" }],
    [{ code: "Forbidden" }, { status: 403, code: "Forbidden" }],
    [{ code: "DeploymentNotFound" }, { status: 404, code: "DeploymentNotFound" }],
  ])("has its own codes: %j", async (fault, expected) => {
    const emulator = createEmulator();
    emulator.faults.add(fault);
    const client = openaiClient(emulator, "/azure/openai/v1");
    await expect(client.images.generate({ model, prompt: "a fox" })).rejects.toMatchObject(expected);
  });
});
