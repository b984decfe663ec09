import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { createEmulator } from "./emulator.js";
import { providerNames } from "./provider-name.js";
import type { EmulatorServer } from "./server.js";
import type { ArkBody } from "./test-support/ask.js";
import { dataUrl } from "./test-support/images.js";

const servers: EmulatorServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(options: Parameters<typeof createEmulator>[0] = {}) {
  const emulator = createEmulator(options);
  const server = await emulator.listen();
  servers.push(server);
  return { emulator, server };
}

function ask(server: EmulatorServer, fields: object = {}, init: RequestInit = {}): Promise<Response> {
  return fetch(`${server.arkBaseUrl}/images/generations`, {
    method: "POST",
    headers: { authorization: "Bearer k", "content-type": "application/json" },
    body: JSON.stringify({ model: "seedream-4-5-251128", prompt: "a fox", ...fields }),
    ...init,
  });
}

describe("a listening emulator", () => {
  it("listens on this machine only", async () => {
    const { server } = await start();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(server.arkBaseUrl).toBe(`${server.url}/api/v3`);
    expect(server.dashscopeBaseUrl).toBe(`${server.url}/api/v1`);
  });

  it.each(providerNames)("has a base URL for %s, whose unknown paths are the provider's", async (name) => {
    const { emulator, server } = await start();
    const response = await fetch(`${server.baseUrls[name]}/no/such/path`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain("The emulator has no path");
    expect(emulator.requests).toMatchObject([{ route: "unknown" }]);
  });

  it("serves OpenAI's official client, with a form and a stream", async () => {
    const { emulator, server } = await start({ images: "tiny" });
    const client = new OpenAI({ apiKey: "any-key", baseURL: server.baseUrls.openai, maxRetries: 0 });
    const bytes = await (await fetch(await dataUrl())).arrayBuffer();
    const image = new File([new Uint8Array(bytes)], "a.png", { type: "image/png" });
    const stream = await client.images.edit({
      model: "gpt-image-2",
      prompt: "a fox",
      image: [image, image],
      stream: true,
    });
    const types = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toEqual(["image_edit.completed"]);
    const files = emulator.requests[0]?.parts?.filter(({ filename }) => filename !== undefined);
    expect(files?.map(({ name, size, type }) => [name, size, type])).toEqual(
      [1, 2].map(() => ["image[]", bytes.byteLength, "image/png"]),
    );
  });

  it("points its links to itself, whatever host the client named, and serves them", async () => {
    const { server } = await start({ origin: "http://elsewhere.example" });
    const response = await ask(server, {}, { headers: { authorization: "Bearer k", host: "ark.example" } });
    const { data } = (await response.json()) as ArkBody;
    expect(data[0]?.url).toContain(`${server.url}/ark-results/`);
    const image = await fetch(data[0]?.url ?? "", { headers: { authorization: "Bearer k" } });
    expect(image.headers.get("content-type")).toBe("image/jpeg");
    expect((await image.arrayBuffer()).byteLength).toBe(Number(image.headers.get("content-length")));
  });

  it("streams: the first event arrives long before the last", async () => {
    const { server } = await start({ millisecondsPerImage: 80, images: "tiny" });
    const fields = { stream: true, sequential_image_generation: "auto", prompt: "4 images" };
    const startedAt = performance.now();
    const reader = (await ask(server, fields)).body?.getReader();
    await reader?.read();
    const first = performance.now() - startedAt;
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read());
    expect(performance.now() - startedAt - first).toBeGreaterThan(150);
  });

  it("sends many megabytes to a client that reads slowly", async () => {
    const { server } = await start();
    const fields = {
      stream: true,
      response_format: "b64_json",
      sequential_image_generation: "auto",
      prompt: "3 images",
    };
    let size = 0;
    for await (const chunk of (await ask(server, fields)).body ?? []) {
      size += chunk.byteLength;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(size).toBeGreaterThan(300_000);
  });

  it("survives clients that disconnect: while it hangs, while it streams, while they send", async () => {
    const { emulator, server } = await start({ millisecondsPerImage: 20 });
    emulator.faults.add({ hang: true, times: 1 });
    await expect(ask(server, {}, { signal: AbortSignal.timeout(50) })).rejects.toThrow("timeout");
    const leave = new AbortController();
    const streaming = await ask(server, { stream: true }, { signal: leave.signal });
    leave.abort();
    await expect(streaming.text()).rejects.toThrow("abort");
    await sendHalfARequest(server);
    expect((await ask(server)).status).toBe(200);
  });

  it("refuses a huge body with the provider's error, and stays up", async () => {
    const { server } = await start();
    const chunk = "x".repeat(1024 * 1024);
    const endless = ReadableStream.from(
      (function* () {
        for (let count = 0; count < 130; count += 1) yield new TextEncoder().encode(chunk);
      })(),
    );
    const url = `${server.dashscopeBaseUrl}/services/aigc/multimodal-generation/generation`;
    const headers = { authorization: "Bearer k" };
    const response = await fetch(url, { method: "POST", headers, body: endless, duplex: "half" });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ code: "BadRequest.TooLarge" });
    expect((await ask(server)).status).toBe(200);
  });

  it.each(["//evil.example/api/v3/images/generations", "/%zz", "*", "/a b"])(
    "responds to the path %s",
    async (path) => {
      const { server } = await start();
      const status = await new Promise<number | undefined>((resolve, reject) => {
        const { hostname, port } = new URL(server.url);
        try {
          httpRequest({ hostname, port, path: path.replace(" ", "%20"), method: "GET" }, (response) => {
            response.resume();
            resolve(response.statusCode);
          })
            .on("error", reject)
            .end();
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      });
      expect(status).toBe(404);
    },
  );

  it("ends hung requests when it closes, and frees its port", async () => {
    const emulator = createEmulator();
    const server = await emulator.listen();
    emulator.faults.add({ hang: true });
    const hung = ask(server);
    while (emulator.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await Promise.all([expect(hung).rejects.toThrow("fetch failed"), server.close()]);
    const again = await emulator.listen({ port: Number(new URL(server.url).port) });
    await again.close();
  });

  it("rejects if its port is in use", async () => {
    const { server } = await start();
    const port = Number(new URL(server.url).port);
    await expect(createEmulator().listen({ port })).rejects.toThrow("EADDRINUSE");
  });

  it("can listen on all interfaces, with links to the host that the client used", async () => {
    const emulator = createEmulator();
    const server = await emulator.listen({ host: "0.0.0.0" });
    servers.push(server);
    const local = server.url.replace("127.0.0.1", "localhost");
    const response = await ask({ ...server, arkBaseUrl: `${local}/api/v3` });
    const { data } = (await response.json()) as ArkBody;
    expect(data[0]?.url).toContain(`${local}/ark-results/`);
  });
});

function sendHalfARequest(server: EmulatorServer): Promise<void> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write("POST /api/v3/images/generations HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{");
      setTimeout(() => socket.destroy(), 20);
    });
    socket.on("close", () => resolve());
  });
}
