import { calculateCharge, type ModelDetails } from "@calotype/core/billing";
import OpenAI, { toFile } from "openai";
import { describe, expect, it } from "vitest";
import { useProviders } from "../support/use-providers.js";
import { decode, drawPng, hasTransparentPixels, toDataUrl } from "./support/images.js";
import { sentUpstream } from "./support/sent-upstream.js";
import { CALLER_KEY, serve } from "./support/serve.js";

const providers = useProviders();

const PRICE: ModelDetails = { pricing_mode: "per-request", model_price: "0.1" };

async function connect() {
  const { url, records } = await serve(providers(), {
    models: {
      "doubao-seedream-*": { family: "seedream" },
      "dola-seedream-*": { family: "seedream" },
      "qwen-image-*": { family: "qwen-image" },
    },
    channels: [
      { id: "ark", family: "seedream", apiKey: "provider-key", baseUrl: providers().server.arkBaseUrl },
      {
        id: "dashscope",
        family: "qwen-image",
        apiKey: "provider-key",
        baseUrl: providers().server.dashscopeBaseUrl,
      },
    ],
    billing: {
      model_details: { "doubao-seedream-*": PRICE, "dola-seedream-*": PRICE, "qwen-image-*": PRICE },
    },
  });
  return { client: new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLER_KEY, maxRetries: 0 }), records };
}

/** The formats of the images behind the links, which the client can open. */
async function openAll(data: readonly { readonly url?: string }[]): Promise<(string | undefined)[]> {
  return Promise.all(
    data.map(async ({ url = "" }) => {
      const response = await fetch(url);
      const { format } = await decode(Buffer.from(await response.arrayBuffer()));
      return format;
    }),
  );
}

const GENERATING = [
  { model: "doubao-seedream-5-5-261028", size: "1600x1200", format: "jpeg" },
  { model: "dola-seedream-5-0-pro-260628", size: "1024x1024", format: "jpeg" },
  { model: "doubao-seedream-5-0-flash-260915", size: "2048x2048", format: "jpeg" },
  { model: "doubao-seedream-5-0-260128", size: "3750x1250", format: "jpeg" },
  { model: "doubao-seedream-4-5-251128", size: "2048x2048", format: "jpeg" },
  { model: "doubao-seedream-4-0-250828", size: "1024x1024", format: "jpeg" },
  { model: "qwen-image-3.0-pro", size: "2560x2560", format: "png" },
  { model: "qwen-image-3.0", size: "1024x1024", format: "png" },
  { model: "qwen-image-2.0-pro", size: "2048x2048", format: "png" },
  { model: "qwen-image-2.0", size: "512x512", format: "png" },
  { model: "qwen-image-max", size: "1664x928", format: "png" },
  { model: "qwen-image-plus", size: "928x1664", format: "png" },
] as const;

describe("images.generate of the openai client", () => {
  it.each(GENERATING)("makes two images of $size with $model", async ({ model, size, format }) => {
    const { client, records } = await connect();

    const { data = [] } = await client.images.generate({ model, prompt: "2 images of a fox", n: 2, size });

    expect(await openAll(data)).toEqual([format, format]);
    // DashScope writes sizes with an asterisk, and does not report the size of each image.
    const written = model.includes("seedream") ? size : size.replace("x", "*");
    expect(JSON.stringify(sentUpstream(providers())[0])).toContain(`"${written}"`);
    const { amount } = calculateCharge({ details: PRICE, usage: { generated_images: 2 } });
    expect(records).toMatchObject([{ model, images: 2, usage: { generated_images: 2 }, charge: amount }]);
  });

  it("gets a transparent background from a model that makes one", async () => {
    const { client } = await connect();
    const { data = [] } = await client.images.generate({
      model: "doubao-seedream-5-5-261028",
      prompt: "a fox",
      size: "1024x1024",
      background: "transparent",
      output_format: "png",
    });
    const response = await fetch(data[0]?.url ?? "");
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(await hasTransparentPixels(Buffer.from(await response.arrayBuffer()))).toBe(true);
  });

  it.each(["qwen-image-edit-max", "qwen-image-edit-plus", "qwen-image-edit"])(
    "edits a reference image with %s",
    async (model) => {
      const { client, records } = await connect();
      const image = toDataUrl(await drawPng());

      const extra = { model, prompt: "at night", image };
      const { data = [] } = await client.images.generate(extra);

      expect(await openAll(data)).toEqual(["png"]);
      expect(records).toMatchObject([{ model, images: 1, charge: "0.1" }]);
    },
  );
});

describe("images.edit of the openai client", () => {
  it.each(GENERATING.filter(({ model }) => model.includes("seedream")))(
    "edits a file with $model",
    async ({ model, size, format }) => {
      const { client, records } = await connect();
      const image = await toFile(await drawPng(), "image.png");

      const { data = [] } = await client.images.edit({ model, prompt: "at night", image, size });

      expect(data).toMatchObject([{ size }]);
      expect(await openAll(data)).toEqual([format]);
      expect(records).toMatchObject([{ model, operation: "edit", images: 1, charge: "0.1" }]);
    },
  );
});
