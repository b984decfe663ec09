import { toFile } from "openai";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { start, startEmulator } from "./start.ts";

const PNG = await sharp({ create: { width: 64, height: 64, channels: 4, background: "#3366cc" } })
  .png()
  .toBuffer();
const PROMPT = "a red fox";

const file = (bytes: Buffer, name = "a.png") => toFile(bytes, name, { type: "image/png" });

describe("what the provider gets", () => {
  it("has the client's fields under their own names, and no response_format", async () => {
    const { post, emulator } = await start();
    const fields = { model: "gpt-image-2", prompt: PROMPT, size: "auto", quality: "low", user: "u-1" };
    const response = await post("/v1/images/generations", { ...fields, response_format: "b64_json" });
    expect(response.status).toBe(200);
    expect(emulator.requests.map(({ body }) => body)).toEqual([fields]);
  });

  it("has one file as image, several as image[], and the mask", async () => {
    const { client, emulator } = await start();
    const image = await file(PNG);
    await client.images.edit({ model: "gpt-image-2", prompt: PROMPT, image });
    await client.images.edit({ model: "gpt-image-2", prompt: PROMPT, image: [image, image], mask: image });
    const names = emulator.requests.map(({ parts = [] }) => parts.map(({ name }) => name));
    expect(names).toEqual([
      ["model", "prompt", "image"],
      ["model", "prompt", "image[]", "image[]", "mask"],
    ]);
  });

  it("has links of an edit as JSON, and no download of the gateway", async () => {
    const { post, emulator, baseUrl } = await start();
    const link = `${new URL(baseUrl).origin}/nothing.png`;
    const response = await post("/v1/images/edits", {
      model: "gpt-image-2",
      prompt: PROMPT,
      images: [{ image_url: link }],
      mask: { image_url: link },
    });
    // The emulator says that it cannot load the link.
    expect(response.status).toBe(400);
    expect(emulator.requests[0]?.body).toEqual({
      model: "gpt-image-2",
      prompt: PROMPT,
      images: [{ image_url: link }],
      mask: { image_url: link },
    });
  });

  it("is an edit for a generation with a reference image", async () => {
    const { post, emulator } = await start();
    const image = `data:image/png;base64,${PNG.toString("base64")}`;
    const response = await post("/v1/images/generations", { model: "gpt-image-2", prompt: PROMPT, image });
    expect(response.status).toBe(200);
    expect(emulator.requests.map(({ url }) => new URL(url).pathname)).toEqual(["/openai/v1/images/edits"]);
  });
});

/** The names of the events that a client gets. */
async function readEvents(response: Response): Promise<readonly string[]> {
  const names = (await response.text()).matchAll(/^event: (\S+)$/gm);
  return [...names].map(([, name = ""]) => name);
}

describe.each(["openai", "native"] as const)("a stream in the format %s", (streamFormat) => {
  const body = { model: "gpt-image-2", prompt: PROMPT, stream: true, n: 2, partial_images: 1 };

  it("has the provider's own bytes, and its usage is summed", async () => {
    const provider = await startEmulator();
    const direct = await fetch(`${provider.baseUrls.openai}/images/generations`, {
      method: "POST",
      headers: { authorization: "Bearer k", "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const { post, records } = await start({ options: { streamFormat } });
    const text = await (await post("/v1/images/generations", body)).text();
    expect(text).toBe(await direct.text());
    const reported = [...text.matchAll(/"total_tokens":(\d+)/g)].map(([, count]) => Number(count));
    expect(reported).toHaveLength(2);
    expect(records).toMatchObject([
      { images: 2, usage: { total_tokens: reported.reduce((sum, count) => sum + count, 0) } },
    ]);
  });

  it("can be read by the official client, also of an edit", async () => {
    const { client } = await start({ options: { streamFormat } });
    const stream = await client.images.edit({
      model: "gpt-image-2",
      prompt: PROMPT,
      image: await file(PNG),
      stream: true,
      partial_images: 2,
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toEqual(["image_edit.partial_image", "image_edit.partial_image", "image_edit.completed"]);
  });

  it("that fails after an image is charged for that image", async () => {
    const { post, emulator, records } = await start({ options: { streamFormat } });
    emulator.faults.add({ streamErrorAfterImages: 1, code: "moderation_blocked" });
    const response = await post("/v1/images/generations", { ...body, partial_images: 0 });
    expect(await readEvents(response)).toEqual(["image_generation.completed", "error"]);
    expect(records).toMatchObject([
      { images: 1, usage: { generated_images: 1 }, errorCode: "moderation_blocked" },
    ]);
  });

  it("without an image of a refused prompt does not count against the channel", async () => {
    const { post, emulator, records, gateway } = await start({ options: { streamFormat } });
    emulator.faults.add({ streamErrorAfterImages: 0, code: "moderation_blocked" });
    for (let call = 0; call < 4; call++) await (await post("/v1/images/generations", body)).text();
    expect(records.map(({ images, errorCode }) => [images, errorCode])).toEqual(
      Array.from({ length: 4 }, () => [0, "moderation_blocked"]),
    );
    expect(gateway.status().channels).toMatchObject([{ state: "ready" }]);
  });
});

describe("a failure of the provider", () => {
  it.each([
    ["moderation_blocked", 400, "moderation_blocked", "ready"],
    ["invalid_image_file", 400, "invalid_image_file", "ready"],
    ["billing_hard_limit_reached", 401, "upstream_authentication_failed", "cooling"],
    ["invalid_api_key", 401, "upstream_authentication_failed", "cooling"],
    ["organization_not_verified", 401, "upstream_authentication_failed", "cooling"],
    ["model_not_found", 404, "model_not_found", "ready"],
    ["rate_limit_exceeded", 429, "rate_limit_exceeded", "ready"],
    ["insufficient_quota", 429, "insufficient_quota", "cooling"],
    ["project_spend_limit_exceeded", 429, "project_spend_limit_exceeded", "cooling"],
    ["server_error", 502, "server_error", "ready"],
    ["server_is_overloaded", 502, "server_is_overloaded", "ready"],
  ])("%s becomes %d %s, and the channel is %s", async (code, status, shown, state) => {
    const { post, emulator, gateway } = await start();
    emulator.faults.add({ code });
    const response = await post("/v1/images/generations", { model: "gpt-image-2", prompt: PROMPT });
    const { error } = (await response.json()) as { error: { code: string } };
    expect([response.status, error.code]).toEqual([status, shown]);
    expect(gateway.status().channels[0]?.state).toBe(state);
  });

  it("of a quota is recognized by its type alone", async () => {
    const { post, emulator } = await start();
    emulator.faults.add({ provider: "openai", status: 429, code: "other", type: "insufficient_quota" });
    const response = await post("/v1/images/generations", { model: "gpt-image-2", prompt: PROMPT });
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([429, "false"]);
  });

  it("of a rate has the provider's delay", async () => {
    const { post, emulator } = await start();
    emulator.faults.add({ code: "rate_limit_exceeded", retryAfterMs: 2500 });
    const response = await post("/v1/images/generations", { model: "gpt-image-2", prompt: PROMPT });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "3"]);
  });

  it("without an image costs what was reported", async () => {
    const { post, emulator, records } = await start();
    emulator.faults.add({ noImages: true });
    const response = await post("/v1/images/generations", { model: "gpt-image-2", prompt: PROMPT });
    expect(response.status).toBe(502);
    expect(records).toMatchObject([{ images: 0, errorCode: "upstream_no_image" }]);
  });
});
