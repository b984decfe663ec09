import { APIError, type OpenAI } from "openai";
import { KEYS } from "./options.ts";
import { openClient, type Stage } from "./stage.ts";

/** Seedream 4.5 makes no image of this size, which programs that were written for OpenAI send. */
const REQUEST = {
  model: "seedream-4-5-251128",
  prompt: "A paper boat in a puddle",
  size: "1024x1024",
} as const;

/** Sends one request as three callers that differ only in their option `client`, and lists the models. */
export async function showClients(stage: Stage): Promise<void> {
  await showRefusal(openClient(stage, KEYS.webShop));
  await showReplacedSize(openClient(stage, KEYS.chat));
  await showStream(openClient(stage, KEYS.script));
  const { data } = await openClient(stage, KEYS.chat).models.list();
  console.log(`  GET /v1/models: ${data.map(({ id }) => id).join(", ")}`);
}

async function showRefusal(client: OpenAI): Promise<void> {
  try {
    await client.images.generate(REQUEST);
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    console.log(`  web-shop, no profile: ${error.status} for the size ${REQUEST.size}`);
    return;
  }
  throw new Error(`The size ${REQUEST.size} was not refused.`);
}

async function showReplacedSize(client: OpenAI): Promise<void> {
  const { data, response } = await client.images.generate(REQUEST).withResponse();
  const format = data.data?.[0]?.b64_json === undefined ? "a link" : "base64";
  const size = response.headers.get("x-calotype-size");
  console.log(
    `  chat, client: "librechat": ${response.status}, ${format}, ${size} in place of ${REQUEST.size}`,
  );
}

async function showStream(client: OpenAI): Promise<void> {
  console.log('  script, client: "openai", as a stream of 2 images:');
  for await (const event of await client.images.generate({ ...REQUEST, n: 2, stream: true })) {
    if (event.type !== "image_generation.completed") throw new Error(`Unexpected event: ${event.type}`);
    const bytes = Buffer.byteLength(event.b64_json, "base64");
    // The last event has the tokens of all images.
    const usage = event.usage.total_tokens === 0 ? "" : `, ${event.usage.total_tokens} tokens`;
    console.log(`    ${event.type}: ${event.size}, ${bytes} bytes in base64${usage}`);
  }
}
