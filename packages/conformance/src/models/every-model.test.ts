import { createGateway } from "@calotype/core";
import { createEmulator } from "@calotype/emulator";
import { afterAll, describe, expect, it } from "vitest";
import { isFull } from "../support/test-run.js";
import {
  type DocumentedModel,
  listImageCounts,
  listSizes,
  QWEN_IMAGE_MODELS,
  SEEDREAM_MODELS,
  selectOneOfEachRow,
} from "./documented-models.js";

/*
 * Each model with each size, number of images, stream and background. The emulator is a second opinion: it has its own
 * table of models. The gateway must send what the provider accepts, and must refuse the rest itself, with a 400 and
 * without a call.
 */

const emulator = createEmulator({ images: "tiny" });
const ORIGIN = "https://provider.example.com";

/** `npm run test:full` tries every value. */
const STREAMS = isFull() ? [undefined, false, true] : [undefined, true];
const BACKGROUNDS = isFull() ? [undefined, "auto", "opaque", "transparent"] : [undefined, "transparent"];

const COUNTS = [
  ...new Set([1, 2, 4, 10, 11, ...listImageCounts([...SEEDREAM_MODELS, ...QWEN_IMAGE_MODELS])]),
];
/** A size and a number of images do not depend on each other: only `npm run test:full` combines all sizes with all numbers. */
const countsFor = (size: string | undefined): readonly number[] =>
  isFull() || size === undefined ? COUNTS : COUNTS.slice(0, 2);
/** The most calls for one request to a model that makes one image per call. */
const MAX_CALLS = 10;

const KEY = "caller-key-of-the-table";
const gateway = createGateway({
  models: {
    "doubao-seedream-*": { family: "seedream" },
    "dola-seedream-*": { family: "seedream" },
    "seedream-*": { family: "seedream" },
    "qwen-image-*": { family: "qwen-image" },
    "wan2.7-*": { family: "qwen-image" },
  },
  channels: [
    { id: "ark", family: "seedream", apiKey: "provider-key", baseUrl: `${ORIGIN}/api/v3` },
    { id: "dashscope", family: "qwen-image", apiKey: "provider-key", baseUrl: `${ORIGIN}/api/v1` },
  ],
  callers: [{ id: "table", key: KEY }],
  fetch: (input, init) => emulator.fetch(input, init),
});
afterAll(() => gateway.close());

type RequestFields = Readonly<Record<string, unknown>>;

interface ModelReply {
  readonly status: number;
  readonly text: string;
}

/** The gateway, or the emulator. */
interface Server {
  fetch(request: Request): Promise<Response>;
}

async function post(to: Server, url: string, key: string, body: RequestFields): Promise<ModelReply> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const response = await to.fetch(new Request(url, { method: "POST", headers, body: JSON.stringify(body) }));
  return { status: response.status, text: await response.text() };
}

const askGateway = (body: RequestFields): Promise<ModelReply> =>
  post(gateway, "http://localhost/v1/images/generations", KEY, body);

function countImages({ text }: ModelReply): number {
  return text.match(/"url":/g)?.length ?? 0;
}

/** What is wrong with the gateway's response if the provider accepts the request, or refuses it. */
async function findProblem(
  body: RequestFields,
  count: number,
  isAccepted: boolean,
): Promise<string | undefined> {
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

/** Beside the sizes at the limits of the model. */
const SEEDREAM_SIZES = [undefined, "auto", "1.5k", "3K", "512x512"];

/** What the provider itself says to the request: one call with a batch, or one of several calls with one image each. */
async function isAcceptedBySeedream(
  { row }: DocumentedModel,
  { n: _n, size, ...body }: RequestFields,
  count: number,
): Promise<boolean> {
  const isSingle = row.imagesPerCall === 1;
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

describe.each(selectOneOfEachRow(SEEDREAM_MODELS))("$name", (model) => {
  it("gets what the provider accepts, of every size, count, stream and background", async () => {
    const problems: string[] = [];
    for (const size of [...SEEDREAM_SIZES, ...listSizes([model], "x")]) {
      for (const count of countsFor(size)) {
        for (const stream of STREAMS) {
          for (const background of BACKGROUNDS) {
            const body = {
              model: model.name,
              prompt: `${count} images of a fox`,
              n: count,
              size,
              stream,
              background,
            };
            const isAccepted = await isAcceptedBySeedream(model, body, count);
            const problem = await findProblem(body, count, isAccepted);
            if (problem !== undefined) problems.push(problem);
          }
        }
      }
    }
    expect(problems.slice(0, 10)).toEqual([]);
  });
});

/** Beside the sizes at the limits of the model. */
const QWEN_IMAGE_SIZES = [undefined, "auto", "512x512", "1664x928", "2560x2560"];

const REFERENCE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** As {@link isAcceptedBySeedream}. DashScope has no streams and no background. */
async function isAcceptedByQwenImage(
  { row }: DocumentedModel,
  { model, prompt, image, size, stream }: RequestFields,
  count: number,
): Promise<boolean> {
  if (stream === true) return false;
  const isSingle = row.imagesPerCall === 1;
  if (isSingle && count > MAX_CALLS) return false;
  // The provider ignores a size of this model, so the gateway refuses it.
  if (row.size === "none" && size !== undefined && size !== "auto") return false;
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

describe.each(selectOneOfEachRow(QWEN_IMAGE_MODELS))("$name", (model) => {
  it("gets what the provider accepts, of every size, count and stream, with and without a reference", async () => {
    const problems: string[] = [];
    for (const size of [...QWEN_IMAGE_SIZES, ...listSizes([model], "x")]) {
      for (const count of countsFor(size)) {
        for (const stream of STREAMS) {
          for (const image of [undefined, REFERENCE]) {
            const body = { model: model.name, prompt: "a fox", n: count, size, stream, image };
            const isAccepted = await isAcceptedByQwenImage(model, body, count);
            const problem = await findProblem(body, count, isAccepted);
            if (problem !== undefined) problems.push(problem);
          }
        }
      }
    }
    expect(problems.slice(0, 10)).toEqual([]);
  });
});
