import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { afterAll, describe, expect, it } from "vitest";

/*
 * Each model with each size, number of images, stream and background. The emulator is a second opinion: it has its own
 * table of models. The gateway must send what the provider accepts, and must refuse the rest itself, with a 400 and
 * without a call.
 */

const emulator = createEmulator({ images: "tiny" });
const ORIGIN = "https://provider.example.com";

const SEEDREAM_MODELS = [
  "doubao-seedream-5-5-261028",
  "dola-seedream-5-5-261028",
  "doubao-seedream-5-0-pro-260628",
  "dola-seedream-5-0-pro-260628",
  "doubao-seedream-5-0-flash-260915",
  "doubao-seedream-5-0-lite-260128",
  "doubao-seedream-5-0-260128",
  "seedream-5-0-260128",
  "doubao-seedream-4-5-251128",
  "seedream-4-5-251128",
  "doubao-seedream-4-0-250828",
];
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

const COUNTS = [1, 2, 4, 6, 7, 10, 11, 15, 16];
/** Models that make one image in a call, and are called several times. */
const MAX_CALLS = 10;
const SINGLE_IMAGE = /seedream-5-5|seedream-5-0-(?:pro|flash)|qwen-image-(?:max|plus|edit)$/;

const KEY = "caller-key-of-the-table";
const gateway = createGateway({
  models: {
    "doubao-seedream-*": { family: "seedream" },
    "dola-seedream-*": { family: "seedream" },
    "seedream-*": { family: "seedream" },
    "qwen-image-*": { family: "qwen-image" },
  },
  channels: [
    { id: "ark", family: "seedream", apiKey: "provider-key", baseUrl: `${ORIGIN}/api/v3` },
    { id: "dashscope", family: "qwen-image", apiKey: "provider-key", baseUrl: `${ORIGIN}/api/v1` },
  ],
  callers: [{ id: "table", key: KEY }],
  fetch: (input, init) => emulator.fetch(input, init),
});
afterAll(() => gateway.close());

type Body = Readonly<Record<string, unknown>>;

interface Reply {
  readonly status: number;
  readonly text: string;
}

/** The gateway, or the emulator. */
interface Server {
  fetch(request: Request): Promise<Response>;
}

async function post(to: Server, url: string, key: string, body: Body): Promise<Reply> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await to.fetch(new Request(url, { method: "POST", headers, body: JSON.stringify(body) }));
  return { status: response.status, text: await response.text() };
}

const askGateway = (body: Body): Promise<Reply> =>
  post(gateway, "http://localhost/v1/images/generations", KEY, body);

function countImages({ text }: Reply): number {
  return text.match(/"url":/g)?.length ?? 0;
}

/** What is wrong with the gateway's response if the provider accepts the request, or refuses it. */
async function findProblem(body: Body, count: number, isAccepted: boolean): Promise<string | undefined> {
  emulator.reset();
  const reply = await askGateway(body);
  const sent = emulator.requests.length;
  const described = JSON.stringify({ ...body, image: body["image"] && "…" });
  if (!isAccepted) {
    if (reply.status === 400 && sent === 0) return undefined;
    return `${described}: the provider refuses it, the gateway sent ${sent} calls and responded ${reply.status}`;
  }
  const images = countImages(reply);
  if (reply.status === 200 && images === count) return undefined;
  return `${described}: the provider makes it, the gateway responded ${reply.status} with ${images} images: ${reply.text.slice(0, 200)}`;
}

const SEEDREAM_SIZES = [
  undefined,
  "auto",
  "1K",
  "1.5k",
  "2K",
  "3K",
  "4K",
  "512x512",
  "960x960",
  "1024x1024",
  "1500x1500",
  "3750x1250",
  "2048x2048",
  "2150x2150",
  "2151x2151",
  "4096x4096",
  "4097x4096",
  "8000x470",
];

/** What the provider itself says to the request: one call with a batch, or one of several calls with one image each. */
async function isAcceptedBySeedream({ n: _n, size, ...body }: Body, count: number): Promise<boolean> {
  const isSingle = SINGLE_IMAGE.test(String(body["model"]));
  if (isSingle && count > MAX_CALLS) return false;
  const { stream, ...rest } = body;
  const batch =
    count > 1 && !isSingle
      ? { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: count } }
      : {};
  const { status } = await post(emulator, `${ORIGIN}/api/v3/images/generations`, "provider-key", {
    ...rest,
    ...batch,
    ...(stream === true && { stream }),
    ...(size !== undefined && size !== "auto" && { size }),
  });
  return status === 200;
}

describe.each(SEEDREAM_MODELS)("%s", (model) => {
  it("gets what the provider accepts, of every size, count, stream and background", async () => {
    const problems: string[] = [];
    for (const size of SEEDREAM_SIZES) {
      for (const count of COUNTS) {
        for (const stream of [undefined, false, true]) {
          for (const background of [undefined, "auto", "opaque", "transparent"]) {
            const body = { model, prompt: `${count} images of a fox`, n: count, size, stream, background };
            const isAccepted = await isAcceptedBySeedream(body, count);
            const problem = await findProblem(body, count, isAccepted);
            if (problem !== undefined) problems.push(problem);
          }
        }
      }
    }
    expect(problems.slice(0, 10)).toEqual([]);
  });
});

const QWEN_IMAGE_SIZES = [
  undefined,
  "auto",
  "511x513",
  "512x512",
  "1024x1024",
  "1328x1328",
  "1664x928",
  "928x1664",
  "2048x2048",
  "2049x2048",
  "2560x2560",
  "2561x2560",
  "2048x256",
  "4096x512",
  "4104x512",
];

const REFERENCE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** As {@link isAcceptedBySeedream}. DashScope has no streams and no background. */
async function isAcceptedByQwenImage({ model, prompt, image, size, stream }: Body, count: number) {
  if (stream === true) return false;
  const isSingle = SINGLE_IMAGE.test(String(model));
  if (isSingle && count > MAX_CALLS) return false;
  // The provider ignores a size of this model, so the gateway refuses it.
  if (model === "qwen-image-edit" && size !== undefined && size !== "auto") return false;
  const content = [...(image === undefined ? [] : [{ image }]), { text: prompt }];
  const parameters = {
    n: isSingle ? 1 : count,
    ...(typeof size === "string" && size !== "auto" && { size: size.replace("x", "*") }),
  };
  const { status } = await post(
    emulator,
    `${ORIGIN}/api/v1/services/aigc/multimodal-generation/generation`,
    "provider-key",
    { model, input: { messages: [{ role: "user", content }] }, parameters },
  );
  return status === 200;
}

describe.each(QWEN_IMAGE_MODELS)("%s", (model) => {
  it("gets what the provider accepts, of every size, count and stream, with and without a reference", async () => {
    const problems: string[] = [];
    for (const size of QWEN_IMAGE_SIZES) {
      for (const count of COUNTS) {
        for (const stream of [undefined, false, true]) {
          for (const image of [undefined, REFERENCE]) {
            const body = { model, prompt: "a fox", n: count, size, stream, image };
            const isAccepted = await isAcceptedByQwenImage(body, count);
            const problem = await findProblem(body, count, isAccepted);
            if (problem !== undefined) problems.push(problem);
          }
        }
      }
    }
    expect(problems.slice(0, 10)).toEqual([]);
  });
});
