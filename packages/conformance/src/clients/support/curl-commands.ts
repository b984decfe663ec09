import { expect } from "vitest";

/** A curl command and its expected result. */
export interface CurlCommand {
  readonly what: string;
  readonly command: string;
  /** Fields that the provider gets. It may get others too. */
  readonly sent: object;
  /** Fields of the response. It may have others too. */
  readonly response: object;
  readonly record: { readonly operation: string; readonly images: number; readonly charge: string };
}

/** Placeholders for the data URLs of uploaded files. */
export const CAT = "<the data URL of cat.png>";
export const STYLE = "<the data URL of style.png>";

const JSON_HEADERS = String.raw`-H "Authorization: Bearer $API_KEY" \
  -H "Content-Type: application/json"`;

const link = { url: expect.stringMatching(/^http/) };
const usage = (images: number) => ({ usage: { generated_images: images } });
const generate = { operation: "generate", images: 1, charge: "0.03" };
const edit = { operation: "edit", images: 1, charge: "0.03" };

export const CURL_COMMANDS: readonly CurlCommand[] = [
  {
    what: "text to image with family A",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "seedream-4-0-250828",
    "prompt": "一只橘猫坐在窗台上，窗外是雪景",
    "size": "2K",
    "response_format": "url",
    "watermark": false
  }'`,
    sent: {
      model: "doubao-seedream-4-0-250828",
      prompt: "一只橘猫坐在窗台上，窗外是雪景",
      size: "2K",
      watermark: false,
    },
    response: { model: "seedream-4-0-250828", data: [{ ...link, size: "2048x2048" }], ...usage(1) },
    record: generate,
  },
  {
    what: "several images by n",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{"model": "seedream-4-0-250828", "prompt": "2 images of a kite, red and blue", "n": 2}'`,
    sent: {
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 2 },
    },
    response: { data: [link, link], ...usage(2) },
    record: { operation: "generate", images: 2, charge: "0.06" },
  },
  {
    what: "a batch by sequential_image_generation",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "seedream-4-0-250828",
    "prompt": "生成3张图片：春、夏、秋的同一个庭院",
    "size": "1K",
    "sequential_image_generation": "auto",
    "sequential_image_generation_options": {"max_images": 3}
  }'`,
    sent: {
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 3 },
    },
    response: { data: [link, link, link], ...usage(3) },
    record: { operation: "generate", images: 3, charge: "0.09" },
  },
  {
    what: "editing of an image by its link",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "seedream-4-0-250828",
    "prompt": "换成夜景",
    "image": "https://example.com/cat.png",
    "seed": 0,
    "guidance_scale": 2.5
  }'`,
    sent: { image: "https://example.com/cat.png", seed: 0, guidance_scale: 2.5 },
    response: { data: [link] },
    record: generate,
  },
  {
    what: "several references by links, as base64",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d @body.json`,
    sent: { image: ["https://example.com/a.png", "https://example.com/b.png"], response_format: "b64_json" },
    response: { data: [{ b64_json: expect.stringMatching(/^[\w+/]{100,}=*$/) }] },
    record: generate,
  },
  {
    what: "an edit with the part image",
    command: String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" \
  -F model=seedream-4-0-250828 \
  -F prompt="换成夜景" \
  -F image=@cat.png \
  -F size=1K`,
    sent: { prompt: "换成夜景", image: [CAT], size: "1K" },
    response: { model: "seedream-4-0-250828", data: [link], ...usage(1) },
    record: edit,
  },
  {
    what: "an edit with image repeated, and n",
    command: String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" \
  -F model=seedream-4-0-250828 \
  -F prompt="2 images: the cat in the style of the other" \
  -F image=@style.png -F "image=@cat.png;type=application/octet-stream" \
  -F n=2`,
    sent: { image: [STYLE, CAT], sequential_image_generation_options: { max_images: 2 } },
    response: { data: [link, link] },
    record: { operation: "edit", images: 2, charge: "0.06" },
  },
  {
    what: "an edit with the parts image[]",
    command: String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" \
  -F "model=seedream-4-0-250828" \
  -F "prompt=the cat in the style of the other" \
  -F "image[]=@cat.png" -F "image[]=@style.png" \
  -F "response_format=b64_json"`,
    sent: { image: [CAT, STYLE], response_format: "b64_json" },
    response: { data: [{ b64_json: expect.any(String) }] },
    record: edit,
  },
  {
    what: "an edit with the parts image[1] and image[0], which counts by number",
    command: String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" \
  -F "model=seedream-4-0-250828" \
  -F "image[1]=@style.png" -F "image[0]=@cat.png" \
  -F "prompt=the cat in the style of the other"`,
    sent: { image: [CAT, STYLE] },
    response: { data: [link] },
    record: edit,
  },
  {
    what: "the native endpoint",
    command: String.raw`curl "$BASE_URL/api/v3/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "seedream-4-0-250828",
    "prompt": "2 images of a kite",
    "size": "1K",
    "sequential_image_generation": "auto",
    "sequential_image_generation_options": {"max_images": 2},
    "optimize_prompt_options": {"mode": "fast"},
    "watermark": false
  }'`,
    sent: { model: "doubao-seedream-4-0-250828", optimize_prompt_options: { mode: "fast" } },
    response: { model: "doubao-seedream-4-0-250828", data: [link, link], ...usage(2) },
    record: { operation: "native", images: 2, charge: "0.06" },
  },
  {
    what: "text to image with family B",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "image-max",
    "prompt": "placeholder",
    "input": {"messages": [{"role": "user", "content": [{"text": "海报，标题“春日”"}]}]},
    "parameters": {
      "size": "1328*1328", "n": 1, "watermark": false, "prompt_extend": true, "negative_prompt": "模糊"
    },
    "response_format": "url"
  }'`,
    sent: {
      model: "qwen-image-max",
      input: { messages: [{ role: "user", content: [{ text: "海报，标题“春日”" }] }] },
      parameters: {
        size: "1328*1328",
        n: 1,
        watermark: false,
        prompt_extend: true,
        negative_prompt: "模糊",
      },
    },
    response: {
      created: expect.any(Number),
      data: [{ ...link, revised_prompt: "" }],
      extra: { request_id: expect.any(String) },
    },
    record: { operation: "generate", images: 1, charge: "0.075" },
  },
  {
    what: "an edit of one image with family B",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "image-edit-plus",
    "prompt": "placeholder",
    "input": {"messages": [{"role": "user", "content": [
      {"image": "https://example.com/cat.png"},
      {"text": "换成夜景"}
    ]}]},
    "parameters": {"n": 1}
  }'`,
    sent: {
      input: {
        messages: [
          { role: "user", content: [{ image: "https://example.com/cat.png" }, { text: "换成夜景" }] },
        ],
      },
    },
    response: { data: [link] },
    record: { operation: "generate", images: 1, charge: "0.05" },
  },
  {
    what: "a fusion of three images with family B, as base64",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "image-edit-plus",
    "prompt": "placeholder",
    "input": {"messages": [{"role": "user", "content": [
      {"image": "https://example.com/subject.png"},
      {"image": "https://example.com/style.png"},
      {"image": "https://example.com/background.png"},
      {"text": "the first as subject, the second as style, the third as background"}
    ]}]},
    "parameters": {"size": "1024*1024"},
    "response_format": "b64_json"
  }'`,
    sent: {
      model: "qwen-image-edit-plus",
      input: {
        messages: [
          {
            role: "user",
            content: [
              { image: "https://example.com/subject.png" },
              { image: "https://example.com/style.png" },
              { image: "https://example.com/background.png" },
              { text: "the first as subject, the second as style, the third as background" },
            ],
          },
        ],
      },
    },
    response: { data: [{ b64_json: expect.stringMatching(/^iVBOR/) }] },
    record: { operation: "generate", images: 1, charge: "0.05" },
  },
];

/** A command that the gateway refuses before it calls a provider. */
export interface RefusedCommand {
  readonly what: string;
  readonly command: string;
  readonly status: number;
  readonly error: { readonly message: unknown; readonly [field: string]: unknown };
}

const INVALID = { type: "invalid_request_error", code: "invalid_request_error" };

export const REFUSED_COMMANDS: readonly RefusedCommand[] = [
  {
    what: "JSON without a model",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{"prompt": "a red fox"}'`,
    status: 400,
    error: { message: "model is required", ...INVALID },
  },
  {
    what: "a form without a model",
    command: String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" \
  -F prompt="at night" -F image=@cat.png`,
    status: 400,
    error: { message: "model is required", ...INVALID },
  },
  {
    what: "the native endpoint without a model",
    command: String.raw`curl "$BASE_URL/api/v3/images/generations" \
  ${JSON_HEADERS} \
  -d '{"prompt": "a red fox"}'`,
    status: 400,
    error: { message: "model is required", ...INVALID },
  },
  {
    what: "an edit without an image",
    command: String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" \
  -F model=seedream-4-0-250828 -F prompt="at night"`,
    status: 400,
    error: { message: "image is required", ...INVALID },
  },
  {
    what: "family B with an empty prompt",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "image-max",
    "prompt": "",
    "input": {"messages": [{"role": "user", "content": [{"text": "a red fox"}]}]}
  }'`,
    status: 400,
    error: { message: expect.stringContaining("placeholder"), param: "prompt", ...INVALID },
  },
  {
    what: "family B in the legacy structure",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "image-max",
    "prompt": "placeholder",
    "input": {"prompt": "a red fox", "negative_prompt": "blur"}
  }'`,
    status: 400,
    error: { message: expect.stringContaining("input.messages"), param: "input.prompt", ...INVALID },
  },
  {
    what: "family B with x in its size",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "image-max",
    "prompt": "placeholder",
    "input": {"messages": [{"role": "user", "content": [{"text": "a red fox"}]}]},
    "parameters": {"size": "1328x1328"}
  }'`,
    status: 400,
    error: { message: expect.stringContaining("1104*1472"), param: "parameters.size", ...INVALID },
  },
  {
    what: "family A with * in its size",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{"model": "seedream-4-0-250828", "prompt": "a red fox", "size": "1024*1024"}'`,
    status: 400,
    error: { message: expect.stringContaining("<width>x<height>"), param: "size", ...INVALID },
  },
  {
    what: "family B with an empty image",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{
    "model": "image-edit-plus",
    "prompt": "placeholder",
    "input": {"messages": [{"role": "user", "content": [{"image": ""}, {"text": "at night"}]}]}
  }'`,
    status: 400,
    error: {
      message: expect.stringContaining("empty"),
      param: "input.messages[0].content[0].image",
      ...INVALID,
    },
  },
  {
    what: "family B on the edits endpoint",
    command: String.raw`curl "$BASE_URL/v1/images/edits" \
  -H "Authorization: Bearer $API_KEY" \
  -F model=image-edit-plus -F prompt="at night" -F image=@cat.png`,
    status: 400,
    error: { message: expect.stringContaining("/v1/images/generations"), ...INVALID },
  },
  {
    what: "a wrong key",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  -H "Authorization: Bearer wrong" -H "Content-Type: application/json" \
  -d '{"model": "seedream-4-0-250828", "prompt": "a red fox"}'`,
    status: 401,
    error: { message: "Wrong API key.", type: "authentication_error", code: "invalid_api_key" },
  },
  {
    what: "no key",
    command: String.raw`curl "$BASE_URL/v1/images/edits" -F model=seedream-4-0-250828 -F image=@cat.png`,
    status: 401,
    error: { message: expect.stringContaining("Authorization: Bearer"), code: "invalid_api_key" },
  },
  {
    what: "JSON without its content type, which curl calls a form",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  -H "Authorization: Bearer $API_KEY" \
  -d '{"model": "seedream-4-0-250828", "prompt": "a red fox"}'`,
    status: 415,
    error: { message: expect.stringContaining("application/json"), type: "invalid_request_error" },
  },
  {
    what: "JSON with a comma too many",
    command: String.raw`curl "$BASE_URL/v1/images/generations" \
  ${JSON_HEADERS} \
  -d '{"model": "seedream-4-0-250828", "prompt": "a red fox",}'`,
    status: 400,
    error: { message: expect.stringContaining("JSON"), ...INVALID },
  },
  {
    what: "a GET",
    command: String.raw`curl "$BASE_URL/v1/images/generations" -H "Authorization: Bearer $API_KEY"`,
    status: 405,
    error: { message: expect.stringContaining("POST"), type: "invalid_request_error" },
  },
];
