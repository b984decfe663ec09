import { describe, expect, it } from "vitest";
import { baseUrlsAt } from "../base-urls.js";
import { createEmulator, type Emulator } from "../emulator.js";
import type { Fault } from "../faults/fault.js";
import type { ProviderName } from "../provider-name.js";
import { countColor, dataUrl, inspect, inspectLink } from "../test-support/images.js";
import { readEvents } from "../test-support/read-events.js";

const baseUrls = baseUrlsAt("http://emulator.test");

interface Service {
  readonly name: ProviderName;
  readonly path: string;
  readonly body: object;
  /** The body of a request for one image as base64, if the service has base64. */
  readonly base64?: object;
}

const services: readonly Service[] = [
  {
    name: "xai",
    path: "/images/generations",
    body: { model: "grok-imagine-image", prompt: "a fox" },
    base64: { response_format: "b64_json" },
  },
  { name: "openrouter", path: "/images", body: { model: "google/any", prompt: "a fox" }, base64: {} },
  {
    name: "together",
    path: "/images/generations",
    body: { model: "black-forest-labs/FLUX.2-pro", prompt: "a fox" },
    base64: { response_format: "base64" },
  },
  { name: "siliconflow", path: "/images/generations", body: { model: "Qwen/Qwen-Image", prompt: "a fox" } },
  { name: "zhipu", path: "/images/generations", body: { model: "glm-image", prompt: "a fox" } },
  { name: "vllm", path: "/images/generations", body: { prompt: "a fox" }, base64: {} },
  {
    name: "localai",
    path: "/images/generations",
    body: { prompt: "a fox" },
    base64: { response_format: "b64_json" },
  },
  {
    name: "minimax",
    path: "/images/generations",
    body: { model: "MiniMax-H3-Image", prompt: "a fox", area: "1K" },
    base64: { response_format: "b64_json" },
  },
  {
    name: "recraft",
    path: "/images/generations",
    body: { model: "recraftv4_1", prompt: "a fox" },
    base64: { response_format: "b64_json" },
  },
  { name: "mai", path: "/images/generations", body: { model: "MAI-Image-2.7", prompt: "a fox" }, base64: {} },
  { name: "ideogram", path: "/image/generate/ideogram-4-5", body: { prompt: "a fox" } },
  {
    name: "tokenhub",
    path: "/wand/hunyuan-image/v3-generation",
    body: { model: "hy-image-v3", prompt: "a fox" },
  },
];

function send(emulator: Emulator, { name, path }: Pick<Service, "name" | "path">, body: object | FormData) {
  const isForm = body instanceof FormData;
  return emulator.fetch(baseUrls[name] + path, {
    method: "POST",
    headers: {
      authorization: "Bearer k",
      "api-key": "k",
      ...(isForm ? {} : { "content-type": "application/json" }),
    },
    body: isForm ? body : JSON.stringify(body),
  });
}

interface AnyBody {
  readonly data?: readonly { url?: string | null; b64_json?: string }[];
  readonly images?: readonly { url: string }[];
}

async function ask(name: ProviderName, fields: object = {}, faults: readonly Fault[] = []) {
  const emulator = createEmulator({ images: "tiny", now: () => 1_763_683_200_000 });
  emulator.faults.add(...faults);
  const service = services.find((candidate) => candidate.name === name);
  if (service === undefined) throw new Error(name);
  const response = await send(emulator, service, { ...service.body, ...fields });
  const { status, headers } = response;
  const text = await response.text();
  const body: unknown = headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
  return { emulator, status, headers, text, body };
}

describe.each(services)("$name", (service) => {
  it("makes an image that can be downloaded or decoded", async () => {
    const emulator = createEmulator();
    const response = await send(emulator, service, service.body);
    expect(response.status).toBe(200);
    const { data, images } = (await response.json()) as AnyBody;
    const item = (data ?? images)?.[0];
    const image =
      item?.url === undefined || item.url === null
        ? await inspect(Buffer.from((item as { b64_json: string }).b64_json, "base64"))
        : await inspectLink(emulator, item.url);
    expect(image.width).toBeGreaterThanOrEqual(512);
    expect(emulator.requests[0]).toMatchObject({ route: service.name, body: service.body });
  });

  it("refuses with its own body, under a fault and for a prompt that is missing", async () => {
    const emulator = createEmulator();
    emulator.faults.add({ status: 500, message: "Broken.", times: 1 });
    const failed = await send(emulator, service, service.body);
    expect([failed.status, await failed.text()]).toEqual([500, expect.stringContaining("Broken.")]);
    const { status } = await send(emulator, service, { ...service.body, prompt: "" });
    expect(status).toBe(service.name === "vllm" ? 422 : 400);
  });

  it("succeeds without images under a fault", async () => {
    const { status, body } = await ask(service.name, {}, [{ noImages: true }]);
    const { data, images } = body as AnyBody;
    expect([status, data ?? images]).toEqual([200, []]);
  });
});

describe("keys", () => {
  it.each([
    ["xai", 401],
    ["openrouter", 401],
    ["together", 401],
    ["siliconflow", 401],
    ["zhipu", 401],
    ["vllm", 200],
    ["localai", 200],
    ["minimax", 401],
    ["recraft", 401],
    ["mai", 401],
    ["ideogram", 401],
    ["tokenhub", 401],
  ] as const)("%s without a key is %i", async (name, expected) => {
    const service = services.find((candidate) => candidate.name === name);
    const emulator = createEmulator({ images: "tiny" });
    const init = { method: "POST", body: JSON.stringify(service?.body) };
    expect((await emulator.fetch(baseUrls[name] + (service?.path ?? ""), init)).status).toBe(expected);
  });
});

describe("response bodies", () => {
  it.each<[ProviderName, object, object]>([
    [
      "xai",
      { n: 2, resolution: "2k", aspect_ratio: "16:9" },
      {
        data: [1, 2].map(() => ({ url: link("xai"), mime_type: "image/jpeg", respect_moderation: true })),
        usage: { cost_in_usd_ticks: 400_000_000 },
      },
    ],
    [
      "openrouter",
      { output_format: "jpeg" },
      {
        created: 1_763_683_200,
        data: [{ b64_json: expect.any(String), media_type: "image/jpeg" }],
        usage: {
          prompt_tokens: 2,
          completion_tokens: 1290,
          total_tokens: 1292,
          completion_tokens_details: { image_tokens: 1290 },
          cost: 0.04,
        },
      },
    ],
    [
      "together",
      { n: 2 },
      {
        id: expect.any(String),
        model: "black-forest-labs/FLUX.2-pro",
        object: "list",
        data: [0, 1].map((index) => ({ index, type: "url", url: link("together") })),
      },
    ],
    [
      "siliconflow",
      { seed: 9_999_999_999 },
      {
        images: [{ url: link("siliconflow") }],
        timings: { inference: expect.any(Number) },
        seed: 9_999_999_999,
      },
    ],
    [
      "zhipu",
      {},
      {
        created: 1_763_683_200,
        data: [{ url: link("zhipu") }],
        content_filter: [{ role: "assistant", level: 3 }],
      },
    ],
    [
      "vllm",
      {},
      { created: 1_763_683_200, data: [{ b64_json: expect.any(String), url: null, revised_prompt: null }] },
    ],
    [
      "minimax",
      { n: 2 },
      {
        created: 1_763_683_200,
        data: [{ url: link("minimax") }, { url: link("minimax") }],
        usage: {
          input_tokens: 4,
          input_tokens_details: { text_tokens: 4, image_tokens: 0 },
          output_tokens: 2_048,
          total_tokens: 2_052,
        },
      },
    ],
    [
      "recraft",
      { n: 2 },
      {
        created: 1_763_683_200,
        credits: 70,
        data: [{ url: link("recraft") }, { url: link("recraft") }],
      },
    ],
    [
      "mai",
      { width: 2048, height: 1024 },
      {
        created: 1_763_683_200,
        data: [{ b64_json: expect.any(String) }],
        usage: { num_input_text_tokens: 2, num_input_image_tokens: 0, num_output_tokens: 2_048 },
      },
    ],
    [
      "ideogram",
      { size: "1440x720", quality: "low", seed: 7 },
      {
        generation_id: expect.any(String),
        created: "2025-11-21T00:00:00.000Z",
        seed: 7,
        usage_cost_usd_micros: 30_000,
        data: [
          {
            object_type: "image.generation",
            url: link("ideogram"),
            prompt: "a fox",
            resolution: "1440x720",
            is_image_safe: true,
            seed: 7,
          },
        ],
      },
    ],
    [
      "tokenhub",
      {},
      { request_id: expect.any(String), created: 1_763_683_200, data: [{ url: link("tokenhub") }] },
    ],
  ])("of %s have only its fields", async (name, fields, expected) => {
    expect((await ask(name, fields)).body).toStrictEqual(expected);
  });

  it("of LocalAI have a usage of zeros", async () => {
    expect((await ask("localai", { n: 2 })).body).toMatchObject({
      data: [{ url: link("localai") }, { url: link("localai") }],
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
  });

  it("of SiliconFlow have their request id in another header, and links of an hour", async () => {
    const { headers, body } = await ask("siliconflow");
    expect(headers.get("x-siliconcloud-trace-id")).toMatch(/^[0-9a-f]{32}$/);
    const expiry = new URL((body as AnyBody).images?.[0]?.url ?? "").searchParams.get("se");
    expect(Date.parse(expiry ?? "")).toBe(1_763_683_200_000 + 3_600_000);
  });
});

describe("errors", () => {
  it.each<[ProviderName, object, Fault | undefined, number, unknown]>([
    [
      "xai",
      { size: "1024x1024" },
      undefined,
      400,
      { code: "Client specified an invalid argument", error: "Argument not supported: size" },
    ],
    [
      "xai",
      { prompt: "content_moderated" },
      undefined,
      400,
      { error: expect.stringContaining("moderation") },
    ],
    ["xai", { model: "grok-9" }, undefined, 404, { code: "Some requested entity was not found" }],
    ["openrouter", { size: "1:1" }, undefined, 400, { error: { code: 400, message: expect.any(String) } }],
    ["openrouter", { style: "x" }, undefined, 400, { error: { message: "Unknown parameter: style" } }],
    ["openrouter", {}, { code: "insufficient_credits" }, 402, { error: { code: 402 } }],
    ["openrouter", {}, { code: "provider_overloaded" }, 529, { error: { code: 529, metadata: {} } }],
    ["together", { model: "flux" }, undefined, 404, { error: { message: "Unable to access model flux." } }],
    ["siliconflow", { batch_size: 2 }, undefined, 400, { code: 20_015, data: null }],
    ["siliconflow", { model: "x" }, undefined, 400, { code: 20_012 }],
    ["zhipu", { size: "1000x1000" }, undefined, 400, { error: { code: "1214" } }],
    ["zhipu", { prompt: "content_moderated" }, undefined, 400, { error: { code: "1301" } }],
    ["zhipu", { quality: "standard" }, undefined, 400, { error: { code: "1214" } }],
    [
      "vllm",
      { prompt: null },
      undefined,
      422,
      { detail: [{ type: "value_error", loc: ["body", "prompt"], msg: "Field required" }] },
    ],
    ["vllm", {}, { code: "loading" }, 503, { detail: "The model is still loading." }],
    ["localai", {}, { status: 500 }, 500, { error: { code: 500, type: "" } }],
    [
      "minimax",
      { size: "512x512", area: null },
      undefined,
      400,
      { error: { type: "bad_request_error", http_code: "400" } },
    ],
    [
      "minimax",
      { size: "1024x1024" },
      undefined,
      400,
      { error: { message: expect.stringContaining("area") } },
    ],
    [
      "minimax",
      {},
      { code: "insufficient_balance" },
      402,
      { error: { message: expect.stringContaining("(1008)") } },
    ],
    ["recraft", { model: "recraftv9" }, undefined, 404, { code: "model_not_found" }],
    ["recraft", { model: "recraftv4_styles" }, undefined, 400, { message: "style_id is required" }],
    ["recraft", { n: 7 }, undefined, 400, { code: "invalid_request" }],
    ["mai", { response_format: "b64_json" }, undefined, 400, { error: { code: "invalid_value" } }],
    [
      "mai",
      { model: "MAI-Image-2.6", width: 2048, height: 2048 },
      undefined,
      400,
      { error: { code: "invalid_value" } },
    ],
    ["mai", { width: 512 }, undefined, 400, { error: { code: "invalid_value" } }],
    ["ideogram", { quality: "very_low" }, undefined, 400, { reject_reason: "invalid_request" }],
    ["ideogram", { prompt: "content_moderated" }, undefined, 422, { error: expect.any(String) }],
    ["tokenhub", { size: "2048x2048" }, undefined, 400, { error: { code: "invalid_parameter" } }],
    [
      "tokenhub",
      { images: ["a", "b", "c", "d"] },
      undefined,
      400,
      { error: { message: "images: at most 3" } },
    ],
  ])("of %s for %j", async (name, fields, fault, status, expected) => {
    const response = await ask(name, fields, fault === undefined ? [] : [fault]);
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject(expected as object);
  });
});

describe("input images", () => {
  const green = [32, 192, 64] as const;

  it.each<[ProviderName, string, (image: string) => object]>([
    [
      "xai",
      "/images/edits",
      (url) => ({
        model: "grok-imagine-image",
        image: { url, type: "image_url" },
        response_format: "b64_json",
      }),
    ],
    [
      "openrouter",
      "/images",
      (url) => ({ model: "a/b", input_references: [{ type: "image_url", image_url: { url } }] }),
    ],
    [
      "together",
      "/images/generations",
      (image_url) => ({ model: "a/b", image_url, response_format: "base64" }),
    ],
    [
      "localai",
      "/images/generations",
      (url) => ({ ref_images: [url.replace(/^.*,/, "")], response_format: "b64_json", size: "640x640" }),
    ],
    [
      "minimax",
      "/images/edits",
      (image_url) => ({
        model: "MiniMax-H3-Image",
        images: [{ image_url }],
        size: "1024x1024",
        response_format: "b64_json",
      }),
    ],
    [
      "recraft",
      "/images/imageToImage",
      (image_url) => ({ model: "recraftv4_1", image_url, strength: 0.5, response_format: "b64_json" }),
    ],
  ])("of %s are drawn", async (name, path, fieldsFor) => {
    const fields = fieldsFor(await dataUrl({ color: "#20c040" }));
    const response = await send(createEmulator(), { name, path }, { prompt: "a fox", ...fields });
    const { data } = (await response.json()) as AnyBody;
    const image = await inspect(Buffer.from(data?.[0]?.b64_json ?? "", "base64"));
    expect(countColor(image, green)).toBeGreaterThan(5000);
  });

  it.each<[ProviderName, string, readonly string[]]>([
    ["vllm", "/images/edits", ["image"]],
    ["localai", "/images/inpainting", ["image", "mask"]],
    ["recraft", "/images/imageToImage", ["image"]],
    ["mai", "/images/edits", ["image[]", "image[]"]],
    ["ideogram", "/image/generate/ideogram-4-5", ["images", "images"]],
  ])("of %s are the files of a form", async (name, path, files) => {
    const form = new FormData();
    form.set("prompt", "a fox");
    if (name === "mai") form.set("model", "MAI-Image-2.7");
    if (name === "recraft") form.set("strength", "0.5");
    const bytes = await (await fetch(await dataUrl({ color: "#20c040" }))).blob();
    for (const file of files) form.append(file, bytes, "a.png");
    const response = await send(createEmulator({ images: "tiny" }), { name, path }, form);
    expect([response.status, await response.json()]).toMatchObject([200, { data: [{}] }]);
    // Ideogram makes an image from the prompt alone.
    if (name === "ideogram") return;
    for (const file of files) form.delete(file);
    expect((await send(createEmulator(), { name, path }, form)).status).toBeGreaterThanOrEqual(400);
  });
});

describe("OpenRouter's stream", () => {
  it("has a text, and one completed for each image", async () => {
    const { text } = await ask("openrouter", { stream: true, n: 2 });
    const events = readEvents(text);
    expect(events.map(({ event }) => event)).toEqual([
      "image_generation.text_chunk",
      "image_generation.completed",
      "image_generation.completed",
    ]);
    expect(JSON.parse(events[1]?.data ?? "")).toMatchObject({
      media_type: "image/png",
      usage: { cost: 0.04 },
    });
  });

  it("breaks with a number as the code", async () => {
    const { text } = await ask("openrouter", { stream: true }, [
      { streamErrorAfterImages: 0, code: "bad_gateway" },
    ]);
    expect(JSON.parse(readEvents(text).at(-1)?.data ?? "")).toMatchObject({
      type: "error",
      error: { code: 502 },
    });
  });
});

it("an image of xAI that a fault makes fail is in the response, without a link", async () => {
  const { status, body } = await ask("xai", { n: 2 }, [{ failImages: [{ index: 1 }] }]);
  expect([status, body]).toMatchObject([
    200,
    { data: [{ respect_moderation: true }, { url: "", respect_moderation: false }] },
  ]);
  const refused = await ask("xai", {}, [{ failImages: [{ index: 0, code: "content_moderated" }] }]);
  expect(refused.status).toBe(400);
});

it("an image that a fault makes fail is refused with the code of the moderation", async () => {
  const { status, body } = await ask("zhipu", {}, [{ failImages: [{ index: 0 }] }]);
  expect([status, body]).toMatchObject([400, { error: { code: "1301" } }]);
});

function link(name: string): unknown {
  return expect.stringMatching(new RegExp(`^http://emulator.test/${name}-results/`));
}
