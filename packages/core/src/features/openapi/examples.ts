const IMAGES = {
  created: 1_764_403_200,
  model: "seedream-4-5-251128",
  data: [{ url: "https://example.com/fox.png", size: "2048x2048" }],
  usage: { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 },
};

const MODEL = {
  id: "seedream-4-5-251128",
  object: "model",
  created: 1_764_288_000,
  owned_by: "seedream",
  capabilities: {
    operations: ["generate", "edit"],
    sizes: {
      presets: ["2K", "4K"],
      list: [],
      min_pixels: 3_686_400,
      max_pixels: 16_777_216,
      min_side: null,
      max_side: null,
      max_aspect_ratio: 16,
    },
    max_images: 15,
    references: { min: 0, max: 14 },
    max_references_and_images: 15,
    stream: true,
    background: null,
    output_formats: null,
    layers: null,
  },
};

const TASK = {
  id: "task_0123456789abcdef0123456789abcdef",
  object: "image.task",
  status: "queued",
  created_at: 1_764_403_200,
  expires_at: 1_764_489_600,
  model: "seedream-4-5-251128",
  operation: "generate",
  request_id: "req_0123456789abcdef0123456789abcdef",
};

const CONTENT = { role: "assistant", content: [{ image: "https://example.com/fox.png" }] };

/** An example of a successful response, by the name of its schema. */
export const EXAMPLES: Readonly<Record<string, object>> = {
  ImagesResponse: IMAGES,
  NativeImagesResponse: { ...IMAGES, model: "doubao-seedream-4-5-251128" },
  DashScopeResponse: {
    output: { choices: [{ finish_reason: "stop", message: CONTENT }] },
    usage: { image_count: 1, width: 1328, height: 1328 },
    request_id: "01234567-89ab-cdef-0123-456789abcdef",
  },
  Estimate: { model: "seedream-4-5-251128", max_images: 1, charge: "0.04", ignored: [] },
  Model: MODEL,
  ModelList: { object: "list", data: [MODEL] },
  Task: TASK,
  TaskList: { object: "list", data: [TASK], first_id: TASK.id, last_id: TASK.id, has_more: false },
  Health: { ledger: "ok", store: "ok", channels: "ok" },
  ChatCompletion: {
    id: "chatcmpl-req_0123456789abcdef0123456789abcdef",
    object: "chat.completion",
    created: 1_764_403_200,
    model: "seedream-4-5-251128",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: "![image 1](https://example.com/fox.png)",
          images: [{ type: "image_url", index: 0, image_url: { url: "https://example.com/fox.png" } }],
        },
        finish_reason: "stop",
      },
    ],
  },
  GenerateContentResponse: {
    candidates: [
      {
        index: 0,
        content: {
          role: "model",
          parts: [{ fileData: { fileUri: "https://example.com/fox.png" } }],
        },
        finishReason: "STOP",
      },
    ],
    modelVersion: "seedream-4-5-251128",
    responseId: "req_0123456789abcdef0123456789abcdef",
  },
  DashScopeTask: {
    request_id: "req_0123456789abcdef0123456789abcdef",
    output: { task_id: TASK.id, task_status: "PENDING" },
  },
};
