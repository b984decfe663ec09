import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { beforeAll, describe, expect, it } from "vitest";
import { drawPng, toDataUrl } from "../clients/support/images.js";
import {
  listImageCounts,
  listReferenceCounts,
  listSizes,
  QWEN_IMAGE_MODELS,
  SEEDREAM_MODELS,
} from "./documented-models.js";

/*
 * The rows of the models and the emulator are written separately from the providers' documents. What one of them
 * refuses, the other refuses too.
 */

const emulator = createEmulator({ images: "tiny", seed: 1 });
const gateway = createGateway({
  models: {
    "doubao-*": { family: "seedream" },
    "dola-*": { family: "seedream" },
    "seedream-*": { family: "seedream" },
    "qwen-*": { family: "qwen-image" },
    "wan2.7-*": { family: "qwen-image" },
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

const ARK = "https://ark.cn-beijing.volces.com/api/v3/images/generations";
const DASHSCOPE = "https://dashscope.aliyuncs.com/api/v1/services/aigc/multimodal-generation/generation";

const ACCEPTED = { status: 200, calls: 1 };
/** By the gateway itself: the provider's own refusal would be a 400 after a call. */
const REFUSED = { status: 400, calls: 0 };

/** The gateway's response on `/v1`, and how many calls the provider got. */
async function sendToGateway(body: object): Promise<object> {
  emulator.reset();
  const response = await gateway.fetch(createPost("http://gateway.test/v1/images/generations", body));
  await response.text();
  return { status: response.status, calls: emulator.requests.length };
}

/** What the gateway must do, by the response of the provider to the same fields. */
async function askProvider(url: string, body: object): Promise<object> {
  const response = await emulator.fetch(createPost(url, body));
  const text = await response.text();
  if (response.status === 200) return ACCEPTED;
  expect({ status: response.status, text }).toMatchObject({ status: 400 });
  return REFUSED;
}

const pngs = (count: number): readonly string[] => Array.from({ length: count }, () => png);

/** Beside the sizes at the limits of the rows. */
const OTHER_SIZES = ["1.5k", "5K", "512x512", "1024x1024"];

const createBatch = (max_images: number) => ({
  sequential_image_generation: "auto",
  sequential_image_generation_options: { max_images },
});

const SEEDREAM_FIELDS: readonly (readonly [string, () => object])[] = [
  ...[...listSizes(SEEDREAM_MODELS, "x"), ...OTHER_SIZES].map(
    (size) => [`size ${size}`, () => ({ size })] as const,
  ),
  ...listReferenceCounts(SEEDREAM_MODELS)
    .filter((count) => count > 0)
    .map((count) => [`${count} references`, () => ({ image: pngs(count) })] as const),
  ["png", () => ({ output_format: "png" })],
  ["webp", () => ({ output_format: "webp" })],
  ["a stream", () => ({ stream: true })],
  ...listImageCounts(SEEDREAM_MODELS).map(
    (count) => [`a batch of ${count}`, () => createBatch(count)] as const,
  ),
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

describe.each(SEEDREAM_MODELS)("$name on /v1 and at the provider", ({ name }) => {
  it.each(SEEDREAM_FIELDS)("agree on %s", async (_what, fields) => {
    const body = { model: name, prompt: "a fox", ...fields() };
    expect(await sendToGateway(body)).toEqual(await askProvider(ARK, body));
  });
});

/** Other models ignore the field at the provider, and the gateway refuses it. */
const LAYER_MODELS = SEEDREAM_MODELS.flatMap(({ name, row: { layers } }) =>
  layers === undefined || layers === "none" ? [] : [{ name, most: layers.max }],
);

describe.each(LAYER_MODELS)("$name on /v1 and at the provider", ({ name, most }) => {
  it.each(LAYER_FIELDS)("agree on layers %s", async (_what, fields) => {
    const body = { model: name, prompt: "a fox", layer_decomposition: true, ...fields() };
    expect(await sendToGateway(body)).toEqual(await askProvider(ARK, body));
  });

  it("agree on the number of layers", async () => {
    // The emulator makes as many layers as the prompt says, up to the limit of the model.
    const body = { model: name, prompt: "99 layers", layer_decomposition: true, image: png };
    const response = await gateway.fetch(createPost("http://gateway.test/v1/images/generations", body));
    expect((await response.text()).match(/"url":/g)).toHaveLength(1 + most);
  });
});

/** Beside the sizes at the limits of the rows. */
const OTHER_QWEN_IMAGE_SIZES = ["1024*1024", "4096*512", "256*1024", "1024x1024"];

const QWEN_IMAGE_FIELDS: readonly (readonly [string, object, references: number])[] = [
  ...[...listSizes(QWEN_IMAGE_MODELS, "*"), ...OTHER_QWEN_IMAGE_SIZES].map(
    (size) => [`size ${size}`, { size }, 1] as const,
  ),
  ...listImageCounts(QWEN_IMAGE_MODELS).map((n) => [`n ${n}`, { n }, 1] as const),
  ...listReferenceCounts(QWEN_IMAGE_MODELS).map((count) => [`${count} references`, {}, count] as const),
  ["thinking", { enable_thinking: true, prompt_extend_mode: "direct" }, 1],
];

describe.each(QWEN_IMAGE_MODELS)("$name on /v1 and at the provider", ({ name, row }) => {
  it.each(QWEN_IMAGE_FIELDS)("agree on %s", async (what, parameters, references) => {
    const content = [...pngs(references).map((image) => ({ image })), { text: "a fox" }];
    const call = { model: name, input: { messages: [{ role: "user", content }] }, parameters };
    // The provider ignores the size of this model. The gateway says that it has no effect.
    const isIgnored = row.size === "none" && what.startsWith("size");
    const expected = isIgnored ? REFUSED : await askProvider(DASHSCOPE, call);
    expect(await sendToGateway({ ...call, prompt: "-" })).toEqual(expected);
  });
});
