import { once } from "node:events";
import { createGateway, type GatewayOptions } from "@calotype/core";
import { toNodeHandler } from "@calotype/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { send } from "./support/http-client.js";
import { listen } from "./support/listen.js";
import { openRaw } from "./support/raw-client.js";
import { CALLER_KEY, CHANNEL_KEY, QWEN_IMAGE } from "./support/test-gateway.js";

const MB = 1024 * 1024;
const MAX_BYTES = 32 * MB;
const PATH = "/v1/images/generations";
/** More than the buffers of two sockets. */
const IMAGE = Buffer.alloc(18 * MB);
const HEADERS = { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" };

/** A gateway on a socket, whose provider responds with a link to one large image. */
async function serve(options: Partial<GatewayOptions> = {}): Promise<string> {
  const provider = await listen(({ method, headers }, res) => {
    if (method === "GET") return void res.end(IMAGE);
    const content = [{ image: `http://${headers.host}/1.png` }];
    const output = { choices: [{ message: { role: "assistant", content } }] };
    res.setHeader("content-type", "application/json");
    res.end(JSON.stringify({ output, usage: { image_count: 1 } }));
  });
  const gateway = createGateway({
    models: { [QWEN_IMAGE]: { family: "qwen-image" } },
    channels: [{ id: "dashscope", family: "qwen-image", apiKey: CHANNEL_KEY, baseUrl: provider.url }],
    callers: [{ id: "tester", key: CALLER_KEY }],
    maxBytesInFlight: MAX_BYTES,
    ...options,
  });
  const { url, close } = await listen(toNodeHandler(gateway));
  onTestFinished(async () => {
    await close();
    await gateway.close();
    await provider.close();
  });
  return url;
}

/**
 * Sends a body as large as the limit. It is accepted only if no other bytes are in flight. It is not JSON, so that it is read
 * completely and then refused with a 400.
 */
async function fillBudget(url: string): Promise<number> {
  const headers = { ...HEADERS, "content-length": String(MAX_BYTES) };
  return (await send(url, { path: PATH, headers, body: "x".repeat(MAX_BYTES) })).status;
}

const ASK = JSON.stringify({ model: QWEN_IMAGE, prompt: "a fox", response_format: "b64_json" });

/** Requests the image and does not read the response. */
const begin = async (url: string) => {
  const headers = { ...HEADERS, "content-length": String(ASK.length) };
  const { socket } = await openRaw(url, { path: PATH, headers });
  socket.pause();
  socket.write(ASK);
  return socket;
};

/** Each check is an upload of 32 MB. */
const POLLED = { timeout: 45_000 };

describe("a large response over a socket", () => {
  it("counts as bytes in flight until its client has read it", async () => {
    const url = await serve();
    const socket = await begin(url);
    await expect.poll(() => fillBudget(url), POLLED).toBe(503);
    let received = 0;
    socket.resume();
    socket.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    // The checks after this would only slow the client down.
    await expect.poll(() => received, POLLED).toBeGreaterThan(IMAGE.length);
    await expect.poll(() => fillBudget(url), POLLED).toBe(400);
  });

  it("does not count after its client has disconnected", async () => {
    const url = await serve();
    const socket = await begin(url);
    await expect.poll(() => fillBudget(url), POLLED).toBe(503);
    socket.destroy();
    await once(socket, "close");
    await expect.poll(() => fillBudget(url), POLLED).toBe(400);
  });

  it("frees its caller's slot for the next request", async () => {
    const url = await serve({ limits: { concurrent: 1 } });
    for (const _ of [1, 2, 3]) {
      const response = await send(url, { path: PATH, headers: HEADERS, body: ASK });
      expect(response.status).toBe(200);
    }
  });
});
