import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { beforeAll, describe, expect, it } from "vitest";
import { drawPng, toDataUrl } from "../clients/support/images.js";

/*
 * The rows of the models and the emulator are written separately from the providers' documents. What one of them
 * refuses, the other refuses too.
 */

const emulator = createEmulator({ images: "tiny", seed: 1 });
const gateway = createGateway({
  models: {
    "doubao-*": { family: "seedream" },
    "dola-*": { family: "seedream" },
    "qwen-*": { family: "qwen-image" },
  },
  channels: [
    { id: "ark", family: "seedream", apiKey: "any-key" },
    { id: "bailian", family: "qwen-image", apiKey: "any-key" },
  ],
  callers: [{ id: "tester", key: "sk-test" }],
  fetch: (input, init) => emulator.fetch(input, init),
});

let png: string;

beforeAll(async () => {
  png = toDataUrl(await drawPng());
});

function createPost(url: string, body: object): Request {
  return new Request(url, {
    method: "POST",
    headers: { authorization: "Bearer sk-test", "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function readStatus(response: Response): Promise<number> {
  await response.text();
  return response.status;
}

const pngs = (count: number): readonly string[] => Array.from({ length: count }, () => png);

const SEEDREAM_MODELS = [
  "doubao-seedream-5-5-261028",
  "dola-seedream-5-0-pro-260628",
  "doubao-seedream-5-0-flash-260915",
  "doubao-seedream-5-0-lite-260128",
  "doubao-seedream-5-0-260128",
  "doubao-seedream-4-5-251128",
  "doubao-seedream-4-0-250828",
];

const SEEDREAM_SIZES = [
  "1K",
  "1.5K",
  "1.5k",
  "2K",
  "3K",
  "4K",
  "5K",
  "512x512",
  "1024x1024",
  "960x960",
  "959x960",
  "3840x240",
  "3856x240",
  "1920x1920",
  "1919x1920",
  "2150x2150",
  "2151x2151",
  "7680x480",
  "7696x480",
  "4096x4096",
  "4097x4096",
];

const SEEDREAM_FIELDS: readonly (readonly [string, () => object])[] = [
  ...SEEDREAM_SIZES.map((size) => [`size ${size}`, () => ({ size })] as const),
  ...[10, 11, 14, 15].map((count) => [`${count} references`, () => ({ image: pngs(count) })] as const),
  ["png", () => ({ output_format: "png" })],
  ["webp", () => ({ output_format: "webp" })],
  ["a stream", () => ({ stream: true })],
  [
    "several images",
    () => ({ sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 3 } }),
  ],
  [
    "too many images",
    () => ({ sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 16 } }),
  ],
  ["a transparent background", () => ({ background: "transparent", output_format: "png" })],
  ["a transparent JPEG", () => ({ background: "transparent", output_format: "jpeg", image: png })],
  ["an opaque background", () => ({ background: "opaque" })],
  ["an unknown background", () => ({ background: "blue" })],
];

const LAYER_FIELDS: readonly (readonly [string, () => object])[] = [
  ["of one image", () => ({ image: png })],
  ["of one image in a list", () => ({ image: [png], size: "2K" })],
  ["of no image", () => ({})],
  ["of two images", () => ({ image: pngs(2) })],
  ["with the size auto", () => ({ image: png, size: "auto" })],
  ["with a size in pixels", () => ({ image: png, size: "2048x2048" })],
  ["without a prompt", () => ({ image: png, prompt: undefined })],
  ["with a transparent background", () => ({ image: png, background: "transparent" })],
];

/** The statuses of the gateway and of the provider, which gets the fields of the native endpoint as sent. */
async function sendBoth(body: object): Promise<readonly number[]> {
  const paths = ["/v1/images/generations", "/api/v3/images/generations"];
  return Promise.all(
    paths.map(async (path) =>
      readStatus(await gateway.fetch(createPost(`http://gateway.test${path}`, body))),
    ),
  );
}

describe.each(SEEDREAM_MODELS)("%s on /v1 and at the provider", (model) => {
  it.each(SEEDREAM_FIELDS)("agree on %s", async (_what, fields) => {
    const [own, provider] = await sendBoth({ model, prompt: "a fox", ...fields() });
    expect([200, 400]).toContain(provider);
    expect(own).toBe(provider);
  });
});

describe.each(SEEDREAM_MODELS.slice(0, 3))("%s on /v1 and at the provider", (model) => {
  it.each(LAYER_FIELDS)("agree on layers %s", async (_what, fields) => {
    const body = { model, prompt: "a fox", layer_decomposition: true, ...fields() };
    const [own, provider] = await sendBoth(body);
    expect([200, 400]).toContain(provider);
    expect(own).toBe(provider);
  });
});

const QWEN_IMAGE_MODELS = [
  "qwen-image-3.0-pro",
  "qwen-image-3.0",
  "qwen-image-2.0-pro",
  "qwen-image-2.0",
  "qwen-image-max",
  "qwen-image-plus",
  "qwen-image-edit-max",
  "qwen-image-edit-plus",
  "qwen-image-edit",
];

const QWEN_IMAGE_SIZES = [
  "1664*928",
  "1328*1328",
  "1024*1024",
  "512*512",
  "511*512",
  "2048*2048",
  "2048*2049",
  "2560*2560",
  "2560*2561",
  "4096*512",
  "4104*512",
  "256*1024",
  "1024x1024",
];

const QWEN_IMAGE_FIELDS: readonly (readonly [string, object, references: number])[] = [
  ...QWEN_IMAGE_SIZES.map((size) => [`size ${size}`, { size }, 1] as const),
  ...[1, 6, 7].map((n) => [`n ${n}`, { n }, 1] as const),
  ...[0, 1, 3, 4].map((references) => [`${references} references`, {}, references] as const),
  ["thinking", { enable_thinking: true, prompt_extend_mode: "direct" }, 1],
];

describe.each(QWEN_IMAGE_MODELS)("%s on /v1 and at the provider", (model) => {
  it.each(QWEN_IMAGE_FIELDS)("agree on %s", async (what, parameters, references) => {
    const content = [...pngs(references).map((image) => ({ image })), { text: "a fox" }];
    const call = { model, input: { messages: [{ role: "user", content }] }, parameters };
    const own = await gateway.fetch(
      createPost("http://gateway.test/v1/images/generations", { ...call, prompt: "-" }),
    );
    const provider = await emulator.fetch(
      createPost(
        "https://dashscope.aliyuncs.com/api/v1/services/aigc/multimodal-generation/generation",
        call,
      ),
    );
    // The provider ignores the size of this model. The gateway says that it has no effect.
    const isIgnored = model === "qwen-image-edit" && what.startsWith("size");
    expect([await readStatus(own), await readStatus(provider)]).toEqual(
      isIgnored ? [400, 200] : [provider.status, provider.status],
    );
  });
});
