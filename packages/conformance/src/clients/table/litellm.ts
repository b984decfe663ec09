import { type Client, type Connection, type EditCall, type Images, sizesArkRefuses } from "./client.js";
import { httpx, type Part, sendOnWire } from "./http-libraries.js";
import { generateBody, sendAsOpenaiPython } from "./openai-python.js";
import { openItems, readItems } from "./read-response.js";

/** The provider `openai` uses openai-python to generate, and httpx to edit. Files are called `image.png`. */
async function edit(connection: Connection, { images, ...call }: EditCall): Images {
  const { url, apiKey, model } = connection;
  const fields = Object.entries({ model, ...call });
  const form = [
    ...fields.map(([name, value]): Part => ({ name, value: String(value) })),
    ...images.map((value): Part => ({ name: "image[]", value, filename: "image.png", type: "image/png" })),
  ];
  const headers = { Authorization: `Bearer ${apiKey}` };
  const request = { path: "/v1/images/edits", headers, body: { form } };
  return openItems(connection, readItems(await sendOnWire(url, httpx({ host: new URL(url).host }, request))));
}

/** Two of the program's providers. Both copy `url` and `b64_json` of each element into their own response. */
export const LITELLM: readonly Client[] = [
  {
    name: "LiteLLM, provider openai",
    profile: "litellm",
    source: "BerriAI/litellm, litellm/llms/openai",
    path: "/v1",
    sizes: ["1024x1024", "1536x1024", "1792x1024"],
    generate: async (connection, call): Images => {
      const body = generateBody({ ...call, model: connection.model });
      return openItems(
        connection,
        readItems(await sendAsOpenaiPython(connection, "/v1/images/generations", body)),
      );
    },
    edit,
  },
  {
    name: "LiteLLM, provider volcengine",
    profile: "litellm",
    source: "BerriAI/litellm, litellm/llms/volcengine/image_generation/transformation.py",
    path: "/api/v3",
    models: ["Seedream 4.5", "Seedream 5.0 Pro"],
    sizes: ["1024x1024", "1536x1024", "1792x1024"],
    exceptions: {
      "Generate, 2 images":
        "The provider sends `n`, which has no meaning on Ark's path. The response has one image.",
      ...sizesArkRefuses("1024x1024", "1536x1024", "1792x1024"),
    },
    generate: async (connection, { prompt, n, size }): Images => {
      const { url, apiKey, model } = connection;
      const headers = { "Content-Type": "application/json", Authorization: `Bearer ${apiKey}` };
      const json = { model, prompt, ...(n && { n }), ...(size && { size }) };
      const request = { path: "/api/v3/images/generations", headers, body: { json } };
      return openItems(
        connection,
        readItems(await sendOnWire(url, httpx({ host: new URL(url).host }, request))),
      );
    },
  },
];
