import type { GatewayOptions } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import OpenAI, { toFile } from "openai";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { listen } from "./support/listen.js";
import { CALLER_KEY, CHANNEL_KEY, startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

const providers = useProviders({ images: "full" });

const WAN = "wan2.7-image";
const PRO = "wan2.7-image-pro";
const PRICED = { pricing_mode: "per-request", model_price: "0.03" } as const;

async function open(options: Partial<GatewayOptions> = {}) {
  const started = startGateway(providers(), {
    models: { "wan2.7-*": { family: "qwen-image", edits: true } },
    channels: [
      {
        id: "bailian",
        family: "qwen-image",
        apiKey: CHANNEL_KEY,
        baseUrl: providers().server.dashscopeBaseUrl,
        resultHosts: ["127.0.0.1"],
      },
    ],
    billing: { model_details: { [WAN]: PRICED, [PRO]: PRICED } },
    ...options,
  });
  const { url, close } = await listen(toNodeHandler(started.gateway));
  onTestFinished(close);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: CALLER_KEY, maxRetries: 0 });
  /** Posts to one of the endpoints. */
  const post = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };
    const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
  };
  return { ...started, client, post };
}

function sentParameters(): unknown {
  const [request] = providers().emulator.requests;
  return (request?.body as { parameters?: unknown } | undefined)?.parameters;
}

const withBudget = (budget: string): Partial<GatewayOptions> => ({
  callers: [{ id: "tester", key: CALLER_KEY, budget }],
});

const MESSAGES = { messages: [{ role: "user", content: [{ text: "a fox" }] }] };
const NATIVE = "/api/v1/services/aigc/multimodal-generation/generation";

describe("Wan 2.7 with the openai client", () => {
  it("makes one image without n, as OpenAI's interface says", async () => {
    const { client, records } = await open();
    const { data = [] } = await client.images.generate({ model: WAN, prompt: "a fox" });
    expect(data).toHaveLength(1);
    expect(sentParameters()).toEqual({ n: 1 });
    expect(records).toMatchObject([{ images: 1, charge: "0.03" }]);
  });

  it("makes several images of a tier in one call, as base64", async () => {
    const { client, records } = await open();
    const { data = [] } = await client.images.generate({
      model: PRO,
      prompt: "a fox",
      n: 4,
      size: "1024x1024",
      response_format: "b64_json",
    });
    const sizes = data.map(async ({ b64_json = "" }) => {
      const { width, height } = await sharp(Buffer.from(b64_json, "base64")).metadata();
      return [width, height];
    });
    expect(await Promise.all(sizes)).toEqual(Array.from({ length: 4 }, () => [1024, 1024]));
    expect(providers().emulator.requests.filter(({ route }) => route === "dashscope")).toHaveLength(1);
    expect(records).toMatchObject([{ images: 4, charge: "0.12" }]);
  });

  it("edits with more references than Qwen-Image takes", async () => {
    const { client, records } = await open();
    const png = await sharp({ create: { width: 300, height: 300, channels: 3, background: "red" } })
      .png()
      .toBuffer();
    const files = Array.from({ length: 5 }, (_, index) =>
      toFile(Buffer.from(png), `${index}.png`, { type: "image/png" }),
    );
    const fields = { bbox_list: "[[[0,0,100,100]]]", thinking_mode: "false" }; // not in the client's types
    const { data = [] } = await client.images.edit({
      model: PRO,
      prompt: "all of them",
      image: await Promise.all(files),
      ...fields,
    });
    expect(data).toHaveLength(1);
    expect(sentParameters()).toEqual({ n: 1, bbox_list: [[[0, 0, 100, 100]]], thinking_mode: false });
    expect(records).toMatchObject([{ images: 1, operation: "edit" }]);
  });

  it("makes a sequence of up to twelve images, held as twelve", async () => {
    const sequence = { model: WAN, prompt: "a fox", n: 12, enable_sequential: true };
    const { client, records } = await open(withBudget("0.36"));
    expect((await client.images.generate(sequence)).data).toHaveLength(12);
    expect(records).toMatchObject([{ images: 12, charge: "0.36" }]);
    const poor = await open(withBudget("0.35"));
    await expect(poor.client.images.generate(sequence)).rejects.toMatchObject({ status: 403 });
  });
});

describe("Wan 2.7 in DashScope's structure", () => {
  it.each([
    ["/v1/images/generations", { prompt: "-" }],
    [NATIVE, {}],
  ])("%s holds and charges the four images that the provider makes without n", async (path, fields) => {
    const body = { model: WAN, input: MESSAGES, ...fields };
    const { post, records } = await open(withBudget("0.12"));
    const { status, text } = await post(path, body);
    expect(status).toBe(200);
    expect(text.match(/https?:/g)).toHaveLength(4);
    expect(sentParameters() ?? {}).toEqual({});
    expect(records).toMatchObject([{ images: 4, charge: "0.12" }]);
    expect(records[0]).not.toHaveProperty("reportedUsage");

    const poor = await open(withBudget("0.11"));
    expect((await poor.post(path, body)).status).toBe(403);
  });

  it("with prices by pixels charges the size that the provider reports", async () => {
    const image_prices = [{ up_to_pixels: 1024 * 1024, price: "0.03" }, { price: "0.09" }];
    const { client, records } = await open({
      billing: { model_details: { "*": { pricing_mode: "per-request", image_prices } } },
    });
    await client.images.generate({ model: PRO, prompt: "a fox", size: "1024x1024" });
    await client.images.generate({ model: PRO, prompt: "a fox" });
    expect(records).toMatchObject([{ charge: "0.03" }, { charge: "0.09" }]);
  });
});

it("GET /v1/models describes Wan 2.7", async () => {
  const { client } = await open();
  const models: unknown[] = [];
  for await (const model of client.models.list()) models.push(model);
  expect(models).toMatchObject([
    { id: WAN, capabilities: { sizes: { presets: ["1K", "2K"] } } },
    {
      id: PRO,
      owned_by: "qwen-image",
      capabilities: {
        sizes: { presets: ["1K", "2K", "4K"], max_pixels: 4096 * 4096 },
        max_images: 4,
        references: { min: 0, max: 9 },
        stream: false,
      },
    },
  ]);
});
