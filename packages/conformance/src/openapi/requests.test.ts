import { createGateway } from "@calotype/core";
import { gemini } from "@calotype/core/families/gemini";
import { openai } from "@calotype/core/families/openai";
import { openApiDocument } from "@calotype/core/openapi";
import { describe, expect, it } from "vitest";
import { findProblems } from "./check-response.js";

const LINK = "https://example.com/a.png";
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const DATA_URL = `data:image/png;base64,${PIXEL}`;
const GENERATIONS = "/v1/images/generations";
const EDITS = "/v1/images/edits";
const DASHSCOPE = "/api/v1/services/aigc/multimodal-generation/generation";

/** Providers that make an image of every request. */
async function respond(url: string | URL | Request): Promise<Response> {
  const address = String(url instanceof Request ? url.url : url);
  if (address.includes("multimodal-generation")) {
    const message = { role: "assistant", content: [{ image: LINK }] };
    return Response.json({ output: { choices: [{ message }] }, usage: { image_count: 1 }, request_id: "1" });
  }
  if (address.includes("generateContent")) {
    const parts = [{ inlineData: { mimeType: "image/png", data: PIXEL } }];
    return Response.json({ candidates: [{ content: { parts }, finishReason: "STOP" }] });
  }
  const usage = { generated_images: 1, output_tokens: 1, total_tokens: 1 };
  return Response.json({ created: 1, data: [{ url: LINK }], usage });
}

/** Without rows of capabilities, so that only the validators decide. */
const families = { s: "seedream", q: "qwen-image", o: "openai", g: "gemini" };
const gateway = createGateway({
  models: Object.fromEntries(
    Object.entries(families).map(([model, family]) => [model, { family, edits: true }]),
  ),
  families: [openai, gemini],
  channels: Object.values(families).map((family) => ({ id: family, family, apiKey: "canary" })),
  callers: [{ id: "me", key: "canary-of-a-caller" }],
  streamFormat: "openai",
  fetch: respond,
  logger: { warn: () => {}, error: () => {} },
});

/** The status of the response, and the fields that had no effect. */
async function send(path: string, body: unknown): Promise<{ status: number; ignored: readonly string[] }> {
  const response = await gateway.fetch(
    new Request(`http://gateway.test${path}`, {
      method: "POST",
      headers: { authorization: "Bearer canary-of-a-caller", "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  await response.text();
  return { status: response.status, ignored: response.headers.get("x-calotype-ignored")?.split(", ") ?? [] };
}

/** Values of all types, of which each field accepts some. */
// biome-ignore format: one line for each kind
const VALUES: readonly unknown[] = [
  undefined, null, "", "x", "3", 0, 1, 2, 2.5, -1, true, false, [], ["x"], [1], {}, [{}],
  LINK, [LINK], "url", "auto", "disabled", "1024x1024", "1328*1328", { image_url: LINK },
  { max_images: 2 }, { max_images: "2" }, { n: 1 }, { n: 1.5 }, { size: 7 }, { watermark: "no" },
  { messages: [] }, { messages: [{}] }, { messages: [{}, {}] },
  ...[[], [{ text: "" }], [{ text: 1 }], [{ text: "x" }]].map((content) => ({ messages: [{ role: "user", content }] })),
  { messages: [{ role: "system", content: [{ text: "x" }] }] },
];

const CONTENT = { messages: [{ role: "user", content: [{ text: "a fox" }] }] };

type RequestCase = [path: string, body: object, schema: string, other?: string];

/** Bodies that are accepted, with the schemas that describe such a body. */
const BODIES: readonly RequestCase[] = [
  [GENERATIONS, { model: "s", prompt: "a fox" }, "SeedreamRequest", "SeedreamLayersRequest"],
  [GENERATIONS, { model: "s", layer_decomposition: true }, "SeedreamLayersRequest", "SeedreamRequest"],
  [GENERATIONS, { model: "q", prompt: "x", input: CONTENT }, "QwenImageRequest", "QwenImageShorthandRequest"],
  [GENERATIONS, { model: "q", prompt: "a fox" }, "QwenImageShorthandRequest", "QwenImageRequest"],
  [GENERATIONS, { model: "o", prompt: "a fox" }, "OpenAIRequest"],
  [GENERATIONS, { model: "g", prompt: "a fox" }, "GeminiRequest"],
  [EDITS, { model: "s", prompt: "a fox", images: [{ image_url: LINK }] }, "SeedreamEditRequest"],
  [EDITS, { model: "s", prompt: "a fox", image: LINK }, "SeedreamEditRequest"],
  [EDITS, { model: "q", prompt: "a fox", image: LINK }, "QwenImageEditRequest"],
  [EDITS, { model: "g", prompt: "a fox", images: [DATA_URL] }, "GeminiEditRequest"],
  [
    EDITS,
    { model: "o", prompt: "a fox", images: [DATA_URL], mask: { image_url: DATA_URL } },
    "OpenAIEditRequest",
  ],
  [
    "/api/v3/images/generations",
    { model: "s", prompt: "a fox" },
    "NativeSeedreamRequest",
    "NativeSeedreamLayersRequest",
  ],
  [DASHSCOPE, { model: "q", input: CONTENT }, "DashScopeRequest"],
];

interface Schema {
  readonly properties: Readonly<
    Record<string, { readonly type?: unknown; readonly anyOf?: unknown; readonly const?: unknown }>
  >;
}

function propertiesOf(name: string): Schema["properties"] {
  const { schemas } = openApiDocument["components"] as { schemas: Record<string, Schema> };
  return schemas[name]?.properties ?? {};
}

/** Whether one of the schemas describes the body. */
function isDescribed(body: unknown, schemas: readonly string[]): boolean {
  // As it is sent: without members that are undefined.
  const sent: unknown = JSON.parse(JSON.stringify(body));
  return schemas.some((schema) => findProblems(schema, sent).length === 0);
}

describe.each<RequestCase>(BODIES)(
  "the schemas of bodies of %s such as %j",
  (path, body, schema, other = schema) => {
    const schemas = [schema, other];

    it("describe the body", async () => {
      expect(await send(path, body)).toMatchObject({ status: 200 });
      expect(isDescribed(body, schemas)).toBe(true);
    });

    it("describe every body that the gateway accepts with another value of a field", async () => {
      for (const [name, { type, anyOf, ...rest }] of Object.entries(propertiesOf(schema))) {
        if (name === "model") continue;
        const bodies = VALUES.map((value) => ({ ...body, [name]: value }));
        const responses = await Promise.all(bodies.map((changed) => send(path, changed)));
        expect(responses.every(({ status }) => status === 200 || status === 400)).toBe(true);
        const undescribed = bodies.filter((changed) => !isDescribed(changed, schemas));
        // A field that is ignored may have any value.
        const isRead = ({ status, ignored }: (typeof responses)[number]) =>
          status === 200 && !ignored.includes(name);
        const accepted = bodies.filter(
          (_, index) => responses[index] !== undefined && isRead(responses[index]),
        );
        expect(accepted.filter((changed) => undescribed.includes(changed))).toEqual([]);
        const isTyped = [type, anyOf, rest.const].some((rule) => rule !== undefined);
        expect(undescribed.length > 0, `${name} is checked`).toBe(isTyped);
      }
    });
  },
);
