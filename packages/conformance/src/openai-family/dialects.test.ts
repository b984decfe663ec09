import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type GatewayOptions, GatewayOptionsError } from "@calotype/core";
import { openai } from "@calotype/core/families/openai";
import { createFileStore } from "@calotype/node";
import { toFile } from "openai";
import sharp from "sharp";
import { describe, expect, it, onTestFinished } from "vitest";
import { type StartOptions, start } from "./start.ts";

const PNG = await sharp({ create: { width: 64, height: 64, channels: 4, background: "#3366cc" } })
  .png()
  .toBuffer();
const IMAGE = `data:image/png;base64,${PNG.toString("base64")}`;
const GENERATIONS = "/v1/images/generations";
const EDITS = "/v1/images/edits";

interface DialectRow {
  readonly service: NonNullable<StartOptions["service"]>;
  readonly model: string;
}

const ROWS: readonly DialectRow[] = [
  { service: "openai", model: "gpt-image-2" },
  { service: "azure", model: "gpt-image-2" },
  { service: "xai", model: "grok-imagine-image" },
  { service: "openrouter", model: "google/gemini-nano-banana-2.1" },
  { service: "together", model: "black-forest-labs/FLUX.2-dev" },
  { service: "siliconflow", model: "Kwai-Kolors/Kolors" },
  { service: "zhipu", model: "cogview-4" },
  { service: "vllm", model: "Qwen/Qwen-Image" },
  { service: "localai", model: "flux" },
  { service: "minimax", model: "MiniMax-H3-Image" },
  { service: "recraft", model: "recraftv4_1" },
  { service: "mai", model: "MAI-Image-2.7" },
  { service: "ideogram", model: "ideogram-4-5" },
  { service: "tokenhub", model: "hy-image-v3" },
];

/** The header that carries the key. */
const KEY_HEADERS: Readonly<Record<string, string>> = {
  azure: "api-key",
  mai: "api-key",
  ideogram: "api-key",
};

/** What every client of OpenAI may send. */
const USUAL = {
  prompt: "a red fox",
  n: 2,
  size: "1024x1024",
  quality: "auto",
  background: "auto",
  moderation: "auto",
  user: "u-1",
};

interface SentFields {
  readonly data: readonly { readonly url?: string; readonly b64_json?: string }[];
  readonly error: { readonly code: string; readonly param: string };
  readonly model?: string;
}

const read = async (response: Response): Promise<SentFields> => (await response.json()) as SentFields;

describe.each(ROWS)("the dialect $service", ({ service, model }) => {
  const open = (options?: Partial<GatewayOptions>) =>
    start({ service, models: [model], ...(options && { options }) });

  it("makes two images for OpenAI's usual fields, and counts them", async () => {
    const { client, records, emulator } = await open();
    const { data = [] } = await client.images.generate({ model, ...USUAL } as never);
    expect(data).toHaveLength(2);
    expect(records).toMatchObject([{ images: 2, usage: { generated_images: 2 } }]);
    const keys = emulator.requests.filter(({ method }) => method === "POST").map(({ headers }) => headers);
    for (const headers of keys) {
      expect(headers[KEY_HEADERS[service] ?? "authorization"]).toContain("provider-key-0001");
    }
  });

  it("delivers base64 of the requested size", async () => {
    const { post } = await start({ service, models: [model], emulator: { images: "full" } });
    const fields = { model, prompt: "a red fox", size: "1024x1024", response_format: "b64_json" };
    const { data } = await read(await post(GENERATIONS, fields));
    const [{ b64_json: base64 = "" } = {}] = data;
    const { width, height } = await sharp(Buffer.from(base64, "base64")).metadata();
    expect([width, height]).toEqual([1024, 1024]);
  });

  it("delivers links with a results store", async () => {
    const directory = await mkdtemp(join(tmpdir(), "calotype-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const { post } = await open({ results: { store: createFileStore({ directory }) } });
    const { data } = await read(
      await post(GENERATIONS, { model, prompt: "a red fox", response_format: "url" }),
    );
    const response = await fetch(data[0]?.url ?? "");
    expect([response.status, data[0]?.url]).toEqual([200, expect.stringContaining("/v1/images/files/")]);
    expect((await sharp(await response.bytes()).metadata()).width).toBeGreaterThan(0);
  });

  it("streams one event for each image in OpenAI's format", async () => {
    const { client } = await open({ streamFormat: "openai" });
    const stream = await client.images.generate({
      model,
      prompt: "a red fox",
      n: 2,
      stream: true,
      response_format: "b64_json",
    });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.filter((type) => type === "image_generation.completed")).toHaveLength(2);
  });

  it("classifies a wrong key", async () => {
    const { post, emulator } = await open();
    emulator.faults.add({ wrongKey: true });
    const response = await post(GENERATIONS, { model, prompt: "a red fox" });
    expect([response.status, (await read(response)).error.code]).toEqual([
      401,
      "upstream_authentication_failed",
    ]);
  });

  it("keeps a refusal of the content", async () => {
    const { post, emulator } = await open();
    const prompt = service === "openai" || service === "azure" ? "moderation_blocked" : "content_moderated";
    const response = await post(GENERATIONS, { model, prompt });
    const posts = emulator.requests.filter(({ method }) => method === "POST");
    // vLLM and LocalAI have no moderation.
    const hasModeration = service !== "vllm" && service !== "localai";
    expect(response.status >= 400 && response.status < 500).toBe(hasModeration);
    expect(posts).toHaveLength(1);
  });
});

describe.each(ROWS.filter(({ service }) => service !== "zhipu"))(
  "an edit with the dialect $service",
  ({ service, model: usual }) => {
    const model = service === "siliconflow" ? "Qwen/Qwen-Image-Edit" : usual;

    const rows = [
      ["files", 1],
      ["files", 2],
      ["data URLs", 1],
      ["data URLs", 2],
    ] as const;
    // Recraft takes one image.
    it.each(rows.filter(([, count]) => service !== "recraft" || count === 1))(
      "shows the service all images of %s (%d)",
      async (kind, count) => {
        const { client, post, emulator, records } = await start({ service, models: [model] });
        const images = Array.from({ length: count }, () => IMAGE);
        if (kind === "files") {
          const files = await Promise.all(
            images.map((_, index) => toFile(PNG, `${index}.png`, { type: "image/png" })),
          );
          await client.images.edit({ model, prompt: "a red fox", image: files });
        } else {
          const list = images.map((image_url) => ({ image_url }));
          await (await post(EDITS, { model, prompt: "a red fox", images: list })).text();
        }
        const [sent] = emulator.requests;
        const files = (sent?.parts ?? []).filter(({ filename }) => filename !== undefined);
        const text = sent?.bodyText ?? "";
        const found = files.length > 0 ? files.length : text.split(PNG.toString("base64")).length - 1;
        expect([found, records[0]?.images]).toEqual([count, 1]);
      },
    );
  },
);

it("an edit gets a 400 of a service that has none", async () => {
  const { post, records } = await start({ service: "zhipu", models: ["x"] });
  const response = await post(EDITS, { model: "x", prompt: "a red fox", images: [{ image_url: IMAGE }] });
  expect([response.status, (await read(response)).error.param]).toEqual([400, "image"]);
  expect(records).toEqual([]);
});

it.each([
  "xai",
  "openrouter",
  "together",
  "vllm",
  "minimax",
  "recraft",
  "mai",
  "ideogram",
  "tokenhub",
] as const)("a mask gets a 400 of %s", async (service) => {
  const { post } = await start({ service, models: ["x"] });
  const fields = { model: "x", prompt: "a fox", images: [{ image_url: IMAGE }], mask: { image_url: IMAGE } };
  const response = await post(EDITS, fields);
  expect([response.status, (await read(response)).error.param]).toEqual([400, "mask"]);
});

it("a mask is an inpainting of LocalAI", async () => {
  const { client, emulator } = await start({ service: "localai", models: ["flux"] });
  const image = await toFile(PNG, "a.png", { type: "image/png" });
  await client.images.edit({ model: "flux", prompt: "a fox", image, mask: image });
  expect(new URL(emulator.requests[0]?.url ?? "").pathname).toBe("/localai/v1/images/inpainting");
});

describe("a call", () => {
  it("of Azure's old API keeps the deployment and the version", async () => {
    const { emulator, baseUrl } = await start();
    const gateway = createGateway({
      families: [openai],
      models: { pictures: { family: "openai" } },
      channels: [
        {
          id: "azure",
          family: "openai",
          dialect: "azure",
          apiKey: "provider-key-0001",
          baseUrl: `${new URL(baseUrl).origin}/azure/openai/deployments/my-deployment?api-version=2025-04-01`,
        },
      ],
      callers: [{ id: "me", key: "caller-key-2" }],
    });
    onTestFinished(() => gateway.close());
    const response = await gateway.fetch(
      new Request("http://gateway.test/v1/images/generations", {
        method: "POST",
        headers: { "api-key": "caller-key-2", "content-type": "application/json" },
        body: JSON.stringify({ model: "pictures", prompt: "a red fox" }),
      }),
    );
    expect(response.status).toBe(200);
    const { pathname, search } = new URL(emulator.requests[0]?.url ?? "");
    expect(pathname + search).toBe(
      "/azure/openai/deployments/my-deployment/images/generations?api-version=2025-04-01",
    );
  });

  it.each([
    ["xai", "1792x1024", { aspect_ratio: "16:9", resolution: "1k" }],
    ["xai", "2048x3072", { aspect_ratio: "2:3", resolution: "2k" }],
    ["together", "768x1344", { width: 768, height: 1344 }],
    ["siliconflow", "1024x1024", { image_size: "1024x1024" }],
    ["mai", "1536x1024", { width: 1536, height: 1024 }],
  ] as const)("of %s says the size %s in its own fields", async (service, size, fields) => {
    const row = ROWS.find(({ service: name }) => name === service);
    const { post, emulator } = await start({ service, models: [row?.model ?? ""] });
    await post(GENERATIONS, { model: row?.model, prompt: "a red fox", size });
    expect(emulator.requests[0]?.body).toMatchObject(fields);
    expect(emulator.requests[0]?.body).not.toHaveProperty("size");
  });

  it("leaves out the fields of OpenAI that no channel knows, and the header names them", async () => {
    const { post, emulator } = await start({ service: "together", models: ["a/b"] });
    const fields = { model: "a/b", prompt: "a red fox", steps: 4, user: "u", output_compression: 50 };
    const response = await post(GENERATIONS, fields);
    expect(response.headers.get("x-calotype-ignored")).toBe("user, output_compression");
    expect(emulator.requests[0]?.body).toEqual({
      model: "a/b",
      prompt: "a red fox",
      steps: 4,
      response_format: "url",
    });
  });
});

/** A gateway whose channel has no address. */
function createWith(dialect: string): unknown {
  return createGateway({
    families: [openai],
    models: { m: { family: "openai" } },
    channels: [{ id: "c", family: "openai", dialect, apiKey: "k" }],
    callers: [{ id: "me", key: "caller-key-2" }],
  });
}

describe("money", () => {
  it("is the cost that xAI and OpenRouter report", async () => {
    const xai = await start({ service: "xai", models: ["grok-imagine-image"] });
    await xai.post(GENERATIONS, { model: "grok-imagine-image", prompt: "a red fox", n: 2 });
    const openrouter = await start({ service: "openrouter", models: ["a/b"] });
    await openrouter.post(GENERATIONS, { model: "a/b", prompt: "a red fox", n: 2 });
    expect([xai, openrouter].map(({ records }) => records[0]?.usage?.cost_usd)).toEqual(["0.04", "0.08"]);
  });

  it.each(["xai", "together", "siliconflow", "zhipu", "vllm", "localai", "recraft", "ideogram", "tokenhub"])(
    "by tokens is an error at startup for %s",
    (dialect) => {
      const options: GatewayOptions = {
        families: [openai],
        models: { m: { family: "openai" } },
        billing: { model_details: { m: { pricing_mode: "per-token", output_token_price: "1" } } },
        channels: [
          { id: "c", family: "openai", dialect, apiKey: "k", baseUrl: "https://images.example.com/v1" },
        ],
        callers: [{ id: "me", key: "caller-key-2" }],
      };
      const problems = (): unknown => createGateway(options);
      expect(problems).toThrow(GatewayOptionsError);
      expect(problems).toThrow(`${dialect} reports no tokens`);
    },
  );

  it("of a service without an address needs baseUrl, and an unknown dialect is an error", () => {
    for (const dialect of ["azure", "vllm", "localai", "mai"])
      expect(() => createWith(dialect)).toThrow("baseUrl");
    expect(() => createWith("replicate")).toThrow("must be one of openai, azure, xai");
  });
});

describe("images that xAI holds back", () => {
  it("are in extra.errors", async () => {
    const { post, emulator, records } = await start({ service: "xai", models: ["grok-imagine-image"] });
    emulator.faults.add({ failImages: [{ index: 1 }] });
    const response = await post(GENERATIONS, { model: "grok-imagine-image", prompt: "foxes", n: 3 });
    expect(await response.json()).toMatchObject({
      data: [{}, {}],
      extra: { errors: [{ index: 1, code: "content_moderated" }] },
    });
    expect(records).toMatchObject([{ images: 2 }]);
  });

  it("are a 400 if there is no other", async () => {
    const { post, emulator, records } = await start({ service: "xai", models: ["grok-imagine-image"] });
    emulator.faults.add({ failImages: [{ index: 0 }] });
    const response = await post(GENERATIONS, { model: "grok-imagine-image", prompt: "a fox" });
    expect([response.status, (await read(response)).error.code]).toEqual([400, "content_moderated"]);
    expect(records).toMatchObject([{ images: 0 }]);
  });
});

it("channels of several dialects serve one model", async () => {
  const { emulator, baseUrl } = await start();
  const { origin } = new URL(baseUrl);
  const gateway = createGateway({
    families: [openai],
    models: { pictures: { family: "openai" } },
    channels: [
      {
        id: "zhipu",
        family: "openai",
        dialect: "zhipu",
        apiKey: "provider-key-0001",
        baseUrl: `${origin}/zhipu/api/paas/v4`,
        priority: 1,
        modelMapping: { pictures: "cogview-4" },
      },
      {
        id: "openai",
        family: "openai",
        apiKey: "provider-key-0002",
        baseUrl,
        modelMapping: { pictures: "gpt-image-2" },
      },
    ],
    callers: [{ id: "me", key: "caller-key-2" }],
  });
  onTestFinished(() => gateway.close());
  const send = async (fields: object): Promise<number> => {
    const headers = { authorization: "Bearer caller-key-2", "content-type": "application/json" };
    const body = JSON.stringify({ model: "pictures", prompt: "a red fox", ...fields });
    return (
      await gateway.fetch(
        new Request("http://g.test/v1/images/generations", { method: "POST", headers, body }),
      )
    ).status;
  };
  expect(await send({})).toBe(200);
  expect(await send({ image: IMAGE })).toBe(200);
  expect(await send({ n: 2 })).toBe(200);
  expect(await send({ stream: true })).toBe(200);
  expect(emulator.requests.filter(({ method }) => method === "POST").map(({ route }) => route)).toEqual([
    "zhipu",
    "openai",
    "openai",
    "openai",
  ]);
});
