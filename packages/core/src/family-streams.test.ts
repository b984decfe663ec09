import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import type { Family } from "./families/family.js";
import type { StreamReader } from "./families/response-shape.js";
import type { GatewayOptions } from "./gateway-options/options.js";
import { PNG } from "./testing/form-bytes.js";
import { MemoryResults } from "./testing/memory-results.js";
import { painter } from "./testing/painter.js";
import { createTestGateway } from "./testing/test-gateway.js";
import type { ReportedFailure, Usage } from "./types.js";
import { isJsonObject } from "./util/json.js";

const BASE64 = Buffer.from(PNG).toString("base64");
const LONG = "QUJD".repeat(10_000);

const event = (name: string, data: object): string =>
  `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
const PARTIAL = event("image_generation.partial_image", { b64_json: BASE64, partial_image_index: 0 });
const completed = (base64: string, tokens: number): string =>
  event("image_generation.completed", {
    b64_json: base64,
    created_at: 1_763_683_200,
    size: "1024x1024",
    usage: { output_tokens: tokens, total_tokens: tokens + 10 },
  });

/** A family whose provider sends the events of OpenAI's images API, one `completed` with its own usage for each image. */
const streamer: Family = {
  ...painter,
  name: "streamer",
  normalize: (fields, context) => ({
    ...painter.normalize(fields, context),
    maxImages: 2,
    stream: fields["stream"] === true,
  }),
  streamShape: {
    imageEvents: ["image_generation.completed", "image_edit.completed"],
    created: "created_at",
    leftOut: ["type", "created_at", "usage"],
    format: "openai",
  },
  readStream,
};

function readStream(): StreamReader {
  let images = 0;
  let usage: Usage | undefined;
  let failure: ReportedFailure | undefined;
  return {
    read({ data }) {
      const body: unknown = data === "[DONE]" ? {} : JSON.parse(data);
      if (!isJsonObject(body)) return;
      const { error, usage: reported } = body;
      if (isJsonObject(error)) failure = { code: String(error["code"]), message: "No.", kind: "content" };
      if (!isJsonObject(reported)) return;
      images++;
      usage = {
        generated_images: images,
        output_tokens: (usage?.output_tokens ?? 0) + Number(reported["output_tokens"]),
        total_tokens: (usage?.total_tokens ?? 0) + Number(reported["total_tokens"]),
      };
    },
    result: () => ({ images, usage, failure }),
  };
}

function open(text: string, options: Partial<GatewayOptions> = {}) {
  return createTestGateway(() => new Response(text, { headers: { "content-type": "text/event-stream" } }), {
    families: [streamer],
    models: { pic: { family: "streamer" } },
    channels: [{ id: "c", family: "streamer", apiKey: "streamer-key-1" }],
    billing: {
      model_details: {
        pic: { pricing_mode: "per-token", output_token_price: "30", input_token_price: "5" },
      },
    },
    ...options,
  });
}

const REQUEST = { model: "pic", prompt: "a fox", stream: true };

describe("a stream whose provider sends OpenAI's events", () => {
  const text = PARTIAL + completed(LONG, 100) + completed(BASE64, 200);

  it.each(["openai", "native"] as const)(
    "is relayed as sent to clients of the format %s",
    async (streamFormat) => {
      const { post, records } = open(text, { streamFormat });
      expect((await post(REQUEST)).text).toBe(text);
      // 300 × 30 ÷ 1,000,000 + 20 × 5 ÷ 1,000,000
      expect(records).toMatchObject([
        { images: 2, charge: "0.0091", usage: { output_tokens: 300, total_tokens: 320 } },
      ]);
    },
  );

  it("has links if the client asked for them, and there is a results store", async () => {
    const store = new MemoryResults();
    const { post } = open(text, { streamFormat: "openai", results: { store } });
    const response = await post({ ...REQUEST, response_format: "url" });
    expect(response.text.match(/"url":"[^"]*\/v1\/images\/files\//g)).toHaveLength(2);
    expect(response.text).not.toContain("b64_json");
    expect(response.text).toContain('"created_at":1763683200');
    expect(store.images.size).toBe(2);
  });

  it("keeps its base64 and stores the images, if the client asked for nothing", async () => {
    const store = new MemoryResults();
    const { post } = open(text, { streamFormat: "openai", results: { store } });
    const response = await post(REQUEST);
    expect(response.text).toContain(LONG);
    expect(response.text).toContain("image_generation.partial_image");
    expect(store.images.size).toBe(2);
  });

  it("that refuses the content does not count against the channel", async () => {
    const refused = event("error", { error: { code: "moderation_blocked", message: "No." } });
    const { post, gateway, records } = open(refused, { streamFormat: "openai" });
    for (let request = 0; request < 4; request++) expect((await post(REQUEST)).text).toBe(refused);
    expect(records[0]).toMatchObject({ images: 0, charge: "0", errorCode: "moderation_blocked" });
    const { channels } = gateway.status();
    expect(channels).toMatchObject([{ state: "ready" }]);
  });
});
