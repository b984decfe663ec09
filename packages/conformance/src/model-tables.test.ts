import type { Gateway } from "@calotype/core";
import { describe, expect, it } from "vitest";
import { CALLER_KEY, CHANNEL_KEY, startGateway } from "./support/test-gateway.js";
import { useProviders } from "./support/use-providers.js";

/** The gateway and the emulator have separate tables of the models. A mistake in one of them shows here. */
const SEEDREAM_MODELS = [
  "doubao-seedream-5-5-261028",
  "dola-seedream-5-0-pro-260628",
  "doubao-seedream-5-0-flash-260915",
  "doubao-seedream-5-0-260128",
  "seedream-4-5-251128",
  "doubao-seedream-4-0-250828",
];
const QWEN_IMAGE_MODELS = [
  "qwen-image-3.0-pro",
  "qwen-image-3.0-2026-08-04",
  "qwen-image-2.0-pro-2026-06-22",
  "qwen-image-2.0",
  "qwen-image-max",
  "qwen-image-plus",
  "qwen-image-edit-max",
  "qwen-image-edit-plus",
  "qwen-image-edit",
];

const links = (count: number) => Array.from({ length: count }, () => "https://example.com/a.png");
const batch = (max_images: number) => ({
  sequential_image_generation: "auto",
  sequential_image_generation_options: { max_images },
});
const layers = (fields: object) => ({ layer_decomposition: true, image: links(1), ...fields });

const SEEDREAM_REQUESTS: readonly object[] = [
  ...["1K", "1.5K", "2K", "3K", "4K", "5K"].map((size) => ({ size })),
  ...["1280x720", "1279x720", "1500x1500", "2560x1440", "2559x1440"].map((size) => ({ size })),
  ...["1634x2830", "1635x2830", "4096x4096", "4097x4096", "7680x480", "7696x480"].map((size) => ({ size })),
  ...[10, 11, 14, 15].map((count) => ({ image: links(count) })),
  ...[1, 15, 16].map((count) => batch(count)),
  { ...batch(5), image: links(10) },
  { ...batch(6), image: links(10) },
  ...["png", "jpeg", "webp"].map((output_format) => ({ output_format })),
  ...["auto", "opaque", "transparent"].map((background) => ({ background })),
  { background: "transparent", image: links(1) },
  { background: "transparent", image: links(1), output_format: "jpeg" },
  ...["1K", "2K", "3K", "auto", "2048x2048"].map((size) => layers({ size })),
  layers({ size: "2K", image: links(2) }),
  layers({ size: "2K", image: undefined }),
  layers({ size: "2K", background: "transparent" }),
];

interface QwenImageRequest {
  /** The number of input images. Default 0, and 1 for models that only edit. */
  readonly images?: number;
  readonly parameters?: object;
}

const QWEN_IMAGE_REQUESTS: readonly QwenImageRequest[] = [
  ...[0, 1, 3, 4].map((images) => ({ images })),
  ...["511*512", "512*512", "1664*928", "2048*2048", "2049*2048", "2560*2560", "2561*2560", "512*4097"].map(
    (size) => ({ parameters: { size } }),
  ),
  ...[1, 2, 6, 7].map((n) => ({ parameters: { n } })),
];

const providers = useProviders();

/** The gateway refuses what these models would ignore: layers of older models, and the size of `qwen-image-edit`. */
function isComparable(model: string, request: object): boolean {
  if ("layer_decomposition" in request) return /5-5|pro|flash/.test(model);
  return !(model === "qwen-image-edit" && JSON.stringify(request).includes("size"));
}

const agreement = { differences: [], statuses: new Set([200, 400]) };

describe("the gateway and the emulator accept the same requests", () => {
  it.each(SEEDREAM_MODELS)("to %s", async (model) => {
    const bodies = SEEDREAM_REQUESTS.filter((request) => isComparable(model, request)).map((fields) => ({
      model,
      prompt: "a fox",
      ...fields,
    }));
    const url = `${providers().server.arkBaseUrl}/images/generations`;
    expect(await compare(bodies, url)).toEqual(agreement);
  });

  it.each(QWEN_IMAGE_MODELS)("to %s", async (model) => {
    const requests = QWEN_IMAGE_REQUESTS.filter((request) => isComparable(model, request));
    const bodies = requests.map(({ images = model.includes("edit") ? 1 : 0, parameters }) => {
      const content = [...links(images).map((image) => ({ image })), { text: "a fox" }];
      return { model, prompt: "a fox", input: { messages: [{ role: "user", content }] }, parameters };
    });
    const path = "/services/aigc/multimodal-generation/generation";
    expect(await compare(bodies, providers().server.dashscopeBaseUrl + path)).toEqual(agreement);
  });
});

/** Sends each body to the gateway and directly to the emulator. Returns the different and all statuses. */
async function compare(bodies: readonly object[], emulatorUrl: string) {
  const gateway = startGatewayOfAllModels();
  const statuses = new Set<number>();
  const differences: object[] = [];
  for (const body of bodies) {
    const request = new Request("http://gateway.test/v1/images/generations", requestInit(body, CALLER_KEY));
    const { status, body: stream } = await gateway.fetch(request);
    await stream?.cancel();
    const emulatorStatus = await statusOf(emulatorUrl, body);
    if (status !== emulatorStatus) differences.push({ body, status, emulatorStatus });
    statuses.add(emulatorStatus);
  }
  return { differences, statuses };
}

function startGatewayOfAllModels(): Gateway {
  const { server } = providers();
  const { gateway } = startGateway(providers(), {
    models: {
      ...Object.fromEntries(SEEDREAM_MODELS.map((name) => [name, { family: "seedream" }])),
      ...Object.fromEntries(QWEN_IMAGE_MODELS.map((name) => [name, { family: "qwen-image" }])),
    },
    channels: [
      { id: "ark", family: "seedream", apiKey: CHANNEL_KEY, baseUrl: server.arkBaseUrl },
      { id: "dashscope", family: "qwen-image", apiKey: CHANNEL_KEY, baseUrl: server.dashscopeBaseUrl },
    ],
    billing: undefined,
  });
  return gateway;
}

async function statusOf(url: string, body: object): Promise<number> {
  const response = await fetch(url, requestInit(body, CHANNEL_KEY));
  await response.arrayBuffer();
  return response.status;
}

function requestInit(body: object, key: string): RequestInit {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(body) };
}
