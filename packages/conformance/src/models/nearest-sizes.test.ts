import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { afterAll, describe, expect, it } from "vitest";
import { drawPng, toDataUrl } from "../clients/support/images.js";
import { type DocumentedModel, QWEN_IMAGE_MODELS, SEEDREAM_MODELS } from "./documented-models.js";

/*
 * With `sizes: "nearest"`, each model makes an image for each size that a client offers. The emulator has its own table
 * of the sizes that each model accepts, and makes images of the size that it gets.
 */

const emulator = createEmulator({ images: "tiny", seed: 1 });
const KEY = "caller-key-of-the-sizes";
const gateway = createGateway({
  models: {
    "doubao-*": { family: "seedream" },
    "dola-*": { family: "seedream" },
    "seedream-*": { family: "seedream" },
    "qwen-*": { family: "qwen-image", edits: true },
  },
  sizes: "nearest",
  channels: [
    { id: "ark", family: "seedream", apiKey: "any-key" },
    { id: "bailian", family: "qwen-image", apiKey: "any-key" },
  ],
  callers: [{ id: "sizes", key: KEY }],
  fetch: (input, init) => emulator.fetch(input, init),
});
afterAll(() => gateway.close());

const png = toDataUrl(await drawPng());

interface Wanted {
  readonly size?: string;
  readonly aspect_ratio?: string;
  readonly resolution?: string;
}

/** The sizes that clients of OpenAI's images API offer, and the fields of clients that know ratios. */
const SIZES =
  "256x256 512x512 1024x1024 1536x1024 1024x1536 1792x1024 1024x1792 auto 2048x2048 2048x1152 3840x2160 2160x3840 " +
  "4096x4096 768x1344 1365x1024 64x64 1024*1024 1K 1.5K 2k 3K 4K 8K 1:1 16:9 9:16 21:9 1:32 adaptive";

const WANTED: readonly Wanted[] = [
  ...SIZES.split(" ").map((size) => ({ size })),
  { aspect_ratio: "16:9" },
  { aspect_ratio: "2:3", resolution: "1K" },
  { aspect_ratio: "auto", resolution: "4K" },
  { resolution: "0.5K" },
];

interface Made {
  readonly status: number;
  readonly calls: number;
  /** What is wrong with the sizes of the images. */
  readonly problem: string | undefined;
}

async function post(path: string, body: object): Promise<Made> {
  emulator.reset();
  const response = await gateway.fetch(
    new Request(`http://gateway.test/v1/images/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  const text = await response.text();
  const { status } = response;
  return { status, calls: emulator.requests.length, problem: status === 200 ? findProblem(text) : text };
}

/** Each image states the pixels that the provider made. */
function findProblem(text: string): string | undefined {
  const { data } = JSON.parse(text) as { data: readonly { readonly size?: unknown }[] };
  const isStated = data.length > 0 && data.every(({ size }) => /^\d+x\d+$/.test(String(size)));
  return isStated ? undefined : text;
}

const MADE: Made = { status: 200, calls: 1, problem: undefined };

const needsImage = ({ row }: DocumentedModel): boolean => (row.references?.min ?? 0) > 0;

describe.each([...SEEDREAM_MODELS, ...QWEN_IMAGE_MODELS])("$name makes an image", (model) => {
  it.each(WANTED)("for %j", async (wanted) => {
    const body = { model: model.name, prompt: "a fox", ...(needsImage(model) && { image: png }), ...wanted };
    expect(await post("generations", body)).toEqual(MADE);
  });

  it.each(WANTED)("from another one for %j", async (wanted) => {
    const body = { model: model.name, prompt: "a fox", images: [{ image_url: png }], ...wanted };
    expect(await post("edits", body)).toEqual(MADE);
  });
});

const LAYER_MODELS = SEEDREAM_MODELS.filter(({ row }) => row.layers !== undefined && row.layers !== "none");

describe.each(LAYER_MODELS)("$name makes layers", ({ name }) => {
  it.each(WANTED)("for %j", async (wanted) => {
    const body = { model: name, prompt: "3 layers", layer_decomposition: true, image: png, ...wanted };
    expect(await post("generations", body)).toEqual(MADE);
  });
});
