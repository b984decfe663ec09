import { describe, expect, it } from "vitest";
import { PNG, PNG_URL } from "./testing/form-bytes.js";
import {
  ARK_KEY,
  ARK_RESPONSE,
  CALLER_KEY,
  createTestGateway,
  DASHSCOPE_KEY,
  DASHSCOPE_RESPONSE,
  type Provider,
  type ReadResponse,
  readResponse,
  type TestGateway,
} from "./testing/test-gateway.js";
import type { ClientName, ResponseFormat } from "./types.js";

/*
 * The requests of existing clients, from their source code (November 2026). Each must be served by each model, with the
 * profile of its client.
 */

interface ClientRequest {
  readonly client: ClientName;
  readonly what: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The fields of a form that hold a file. Absent: the request is JSON. */
  readonly files?: readonly string[];
}

const PROMPT = "a fox in the snow";

const OPENAI_FIELDS = {
  prompt: PROMPT,
  background: "auto",
  complexity: "high",
  frame_count: 1,
  frame_duration_ms: 100,
  moderation: "auto",
  n: 1,
  output_compression: 100,
  output_format: "png",
  quality: "xhigh",
  safety_identifier: "user-1",
  size: "auto",
  style: "vivid",
  svg: { model: "x" },
  user: "user-1",
};

const NULLS = Object.fromEntries(Object.keys(OPENAI_FIELDS).map((name) => [name, null]));

const GENERATIONS: readonly ClientRequest[] = [
  { client: "openai", what: "every field", fields: OPENAI_FIELDS },
  {
    client: "openai",
    what: "null for every field",
    fields: { ...NULLS, prompt: PROMPT, partial_images: null, stream: null },
  },
  {
    client: "openai",
    what: "a stream",
    fields: { prompt: PROMPT, stream: true, partial_images: 2, size: "1024x1024" },
  },
  { client: "openai", what: "a stream of several images", fields: { prompt: PROMPT, stream: true, n: 3 } },
  {
    client: "openai",
    what: "a size of DALL-E 3",
    fields: { prompt: PROMPT, size: "1792x1024", response_format: "url" },
  },
  { client: "ai-sdk", what: "openai-compatible", fields: { prompt: PROMPT, n: 2, size: "1024x1024" } },
  {
    client: "ai-sdk",
    what: "openai",
    fields: { ...OPENAI_FIELDS, n: 4, size: "1024x1536", response_format: "b64_json" },
  },
  {
    client: "open-webui",
    what: "its defaults",
    fields: { prompt: PROMPT, n: 1, size: "512x512", response_format: "b64_json" },
  },
  {
    client: "librechat",
    what: "its defaults",
    fields: { prompt: PROMPT, n: 1, background: "auto", output_format: "png", quality: "auto", size: "auto" },
  },
  { client: "lobehub", what: "one image", fields: { prompt: PROMPT, n: 1, size: "1024x1024" } },
  {
    client: "dify",
    what: "every field",
    fields: {
      prompt: PROMPT,
      size: "1536x1024",
      quality: "high",
      background: "opaque",
      output_format: "png",
      n: 2,
      output_compression: 100,
      moderation: "low",
    },
  },
  ...["256x256", "512x512", "1024x1024", "1792x1024", "1024x1792"].map(
    (size): ClientRequest => ({
      client: "n8n",
      what: size,
      fields: { prompt: PROMPT, response_format: "url", size, quality: "hd", style: "natural", n: 1 },
    }),
  ),
  {
    client: "langchain",
    what: "its defaults",
    fields: {
      prompt: PROMPT,
      n: 1,
      size: "1024x1024",
      response_format: "url",
      style: "vivid",
      quality: "standard",
      user: "user-1",
    },
  },
  {
    client: "litellm",
    what: "fields of OpenAI",
    fields: { prompt: PROMPT, n: 1, quality: "high", style: "vivid", user: "u", seed: 5 },
  },
  {
    client: "comfyui",
    what: "adaptive",
    fields: { prompt: PROMPT, size: "adaptive", seed: 5, stream: false, watermark: false },
  },
];

const EDITS: readonly ClientRequest[] = [
  { client: "openai", what: "one file", files: ["image"], fields: { prompt: PROMPT, n: "1", size: "auto" } },
  {
    client: "openai",
    what: "a list of files and every field",
    files: ["image[]", "image[]"],
    fields: {
      prompt: PROMPT,
      background: "auto",
      input_fidelity: "high",
      n: "2",
      output_compression: "90",
      output_format: "png",
      partial_images: "0",
      quality: "high",
      size: "1024x1536",
      stream: "false",
      "svg[model]": "x",
      user: "user-1",
    },
  },
  {
    client: "openai",
    what: "a stream",
    files: ["image"],
    fields: { prompt: PROMPT, stream: "true", partial_images: "1" },
  },
  {
    client: "openai",
    what: "JSON",
    fields: { prompt: PROMPT, images: [{ image_url: PNG_URL }], stream: true, partial_images: 3 },
  },
  {
    client: "ai-sdk",
    what: "openai-compatible",
    files: ["image[]"],
    fields: { prompt: PROMPT, n: "1", size: "1024x1024" },
  },
  {
    client: "open-webui",
    what: "image",
    files: ["image"],
    fields: { prompt: PROMPT, n: "1", size: "512x512", response_format: "b64_json" },
  },
  {
    client: "open-webui",
    what: "image[]",
    files: ["image[]", "image[]"],
    fields: { prompt: PROMPT, n: "1", size: "512x512" },
  },
  {
    client: "librechat",
    what: "its defaults",
    files: ["image[]"],
    fields: { prompt: PROMPT, n: "1", quality: "auto", size: "auto" },
  },
  {
    client: "lobehub",
    what: "one file",
    files: ["image"],
    fields: { prompt: PROMPT, n: "1", input_fidelity: "high" },
  },
  {
    client: "dify",
    what: "three files",
    files: ["image[]", "image[]", "image[]"],
    fields: { prompt: PROMPT, size: "1024x1024", quality: "high", n: "1" },
  },
  {
    client: "n8n",
    what: "two files",
    files: ["image[]", "image[]"],
    fields: { prompt: PROMPT, response_format: "url", size: "1024x1024", n: "1" },
  },
];

/** A model of each kind: with batches and streams, with one image per call, and those of family B. */
const MODELS = [
  "seedream-4-5-251128",
  "seedream-5-0-pro-260628",
  "doodle",
  "image-2.0",
  "image-max",
  "sketch",
];
const EDITING_MODELS = [...MODELS, "image-edit-plus", "image-edit"];

/** What no provider here may get. */
const OPENAI_ONLY =
  /"(?:quality|style|user|moderation|input_fidelity|output_compression|partial_images|complexity|frame_count|frame_duration_ms|safety_identifier|svg[^"]*)":/;

/** The formats in which the clients can read images. */
const READABLE: Partial<Record<ClientName, ResponseFormat>> = {
  librechat: "b64_json",
  dify: "b64_json",
  "ai-sdk": "b64_json",
  "open-webui": "b64_json",
};

const LINK = "http://127.0.0.1:9/1.png";

/** Both providers in the requested format, and the images behind the links of DashScope. */
const provider: Provider = ({ url, body }) => {
  if (url === LINK) return new Response(PNG, { headers: { "content-type": "image/png" } });
  if (url.includes("multimodal-generation")) {
    return Response.json(
      JSON.parse(JSON.stringify(DASHSCOPE_RESPONSE).replace("https://dashscope.test/1.png", LINK)),
    );
  }
  const image =
    body["response_format"] === "b64_json" ? { b64_json: "AAAA" } : { url: "https://ark.test/1.png" };
  return Response.json({ ...ARK_RESPONSE, data: [{ ...image, size: "2048x2048" }] });
};

function open(client: ClientName): TestGateway {
  return createTestGateway(provider, {
    models: {
      "seedream-*": { family: "seedream" },
      doodle: { family: "seedream" },
      "image-*": { family: "qwen-image", edits: true },
      sketch: { family: "qwen-image", edits: true },
    },
    channels: [
      { id: "ark", family: "seedream", apiKey: ARK_KEY },
      // Links of a provider on this computer are downloaded from this computer.
      { id: "bailian", family: "qwen-image", apiKey: DASHSCOPE_KEY, baseUrl: "http://127.0.0.1:9/api/v1" },
    ],
    callers: [{ id: "me", key: CALLER_KEY, client }],
  });
}

function createBody(model: string, { fields, files }: ClientRequest): string | FormData {
  if (files === undefined) return JSON.stringify({ model, ...fields });
  const form = new FormData();
  form.append("model", model);
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  for (const name of files) form.append(name, new File([PNG], "image.png", { type: "image/png" }));
  return form;
}

async function send(
  { gateway }: TestGateway,
  path: string,
  model: string,
  request: ClientRequest,
): Promise<ReadResponse> {
  const headers = {
    authorization: `Bearer ${CALLER_KEY}`,
    ...(request.files === undefined && { "content-type": "application/json" }),
  };
  const url = `http://gateway.test/v1/images/${path}?api-version=2026-10-01`;
  return readResponse(
    await gateway.fetch(new Request(url, { method: "POST", headers, body: createBody(model, request) })),
  );
}

describe.each([
  ["generations", GENERATIONS, MODELS],
  ["edits", EDITS, EDITING_MODELS],
] as const)("/v1/images/%s", (path, requests, models) => {
  const cases = requests.flatMap((request) => models.map((model) => ({ ...request, model })));

  it.each(cases)("serves $client with $model: $what", async ({ model, ...request }) => {
    const test = open(request.client);
    const response = await send(test, path, model, request);
    expect({ status: response.status, problem: response.body["error"] }).toEqual({
      status: 200,
      problem: undefined,
    });
    const posts = test.calls.filter(({ url }) => url !== LINK);
    expect(posts.length).toBeGreaterThan(0);
    for (const { text } of posts) expect(text).not.toMatch(OPENAI_ONLY);
  });

  const toReadable = cases.filter(({ client }) => READABLE[client] !== undefined);

  it.each(toReadable)("sends base64 to $client with $model: $what", async ({ model, ...request }) => {
    const { body } = await send(open(request.client), path, model, request);
    const data = body["data"] as readonly object[];
    expect(data.length).toBeGreaterThan(0);
    for (const image of data)
      expect(image).toHaveProperty("b64_json", expect.stringMatching(/^[A-Za-z0-9+/]+=*$/));
  });
});

async function ignoredBy(model: string): Promise<string | null> {
  const request = GENERATIONS[0];
  if (request === undefined) throw new Error("There is no request.");
  const { headers } = await send(open("openai"), "generations", model, request);
  return headers.get("x-calotype-ignored");
}

describe("the fields without effect", () => {
  const always =
    "complexity, frame_count, frame_duration_ms, moderation, output_compression, quality, safety_identifier, style, svg, user";

  it.each([
    ["seedream-4-5-251128", `background, ${always}`],
    ["seedream-5-0-pro-260628", always],
    ["image-2.0", `background, ${always}, output_format`],
  ])("of %s are named", async (model, names) => {
    expect(await ignoredBy(model)).toBe(names);
  });
});
