import https from "node:https";
import { type SetupServer, setupServer } from "msw/node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createEmulator, type Emulator } from "./emulator.js";
import { type MswHandlerOptions, toMswHandlers } from "./msw.js";
import type { EmulatorOptions } from "./options.js";
import type { ArkBody, DashscopeBody } from "./test-support/ask.js";
import { arkInit, readBody } from "./test-support/read-body.js";

const servers: SetupServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  vi.restoreAllMocks();
});

function intercept(options: EmulatorOptions = {}, handlerOptions?: MswHandlerOptions): Emulator {
  const emulator = createEmulator({ images: "tiny", ...options });
  const server = setupServer(...toMswHandlers(emulator, handlerOptions));
  server.listen({ onUnhandledFrame: "error" });
  servers.push(server);
  return emulator;
}

const arkUrl = "https://ark.cn-beijing.volces.com/api/v3/images/generations";
const dashscopePath = "/api/v1/services/aigc/multimodal-generation/generation";

function askDashscope(origin: string, images: readonly string[] = []) {
  const content = [...images.map((image) => ({ image })), { text: "a fox" }];
  const body = JSON.stringify({ model: "qwen-image-2.0", input: { messages: [{ role: "user", content }] } });
  return fetch(origin + dashscopePath, { method: "POST", headers: { authorization: "Bearer k" }, body });
}

describe("handlers for msw", () => {
  it.each([
    "https://ark.cn-beijing.volces.com",
    "https://ark.ap-southeast.bytepluses.com",
    "https://ark.eu-west.bytepluses.com",
  ])("respond for Ark at %s, and serve its links", async (origin) => {
    intercept();
    const response = await fetch(`${origin}/api/v3/images/generations`, arkInit());
    const { data } = (await response.json()) as ArkBody;
    const url = data[0]?.url ?? "";
    expect(new URL(url).origin).toBe(origin);
    const image = await fetch(url);
    expect(image.headers.get("content-type")).toBe("image/jpeg");
    expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(100);
  });

  it.each(["https://dashscope.aliyuncs.com", "https://dashscope-intl.aliyuncs.com"])(
    "respond for DashScope at %s, and serve its links",
    async (origin) => {
      intercept();
      const { output } = (await (await askDashscope(origin)).json()) as DashscopeBody;
      const url = output.choices[0]?.message.content[0]?.image ?? "";
      expect(new URL(url).origin).toBe(origin);
      expect((await fetch(url)).headers.get("content-type")).toBe("image/png");
    },
  );

  it.each([
    ["https://api.openai.com/v1/images/generations", "openai"],
    ["https://my-resource.openai.azure.com/openai/v1/images/generations?api-version=v1", "azure"],
  ])("respond for %s", async (url, route) => {
    const emulator = intercept();
    const body = JSON.stringify({ model: "gpt-image-2", prompt: "a fox" });
    const response = await fetch(url, { method: "POST", headers: { authorization: "Bearer k" }, body });
    expect(response.status).toBe(200);
    expect(emulator.requests).toMatchObject([{ route }]);
  });

  it("respond for Gemini and for services with OpenAI's API, each at its own host", async () => {
    const emulator = intercept();
    const prompt = "a fox";
    const google = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash-image";
    await post(`${google}:generateContent`, { contents: [{ parts: [{ text: prompt }] }] });
    await post("https://openrouter.ai/api/v1/images", { model: "a/b", prompt });
    await post("https://api.eu.bfl.ai/v1/flux-2-pro", { prompt });
    const response = await post("https://api.x.ai/v1/images/generations", {
      model: "grok-imagine-image",
      prompt,
    });
    expect(emulator.requests.map(({ route }) => route)).toEqual(["gemini", "openrouter", "bfl", "xai"]);
    const { data } = (await response.json()) as ArkBody;
    expect((await fetch(data[0]?.url ?? "")).status).toBe(200);
  });

  it("intercept all other paths of the providers", async () => {
    const emulator = intercept();
    const response = await fetch("https://dashscope.aliyuncs.com/api/v1/models");
    expect(response.status).toBe(404);
    expect(emulator.requests).toMatchObject([{ route: "unknown" }]);
  });

  it.each([
    "https://ark.cn-beijing.volces.com.evil.example/",
    "https://ark.cn-beijing.example.com/",
    "https://elsewhere.example/ark-results/x.png",
    "http://dashscope.aliyuncs.com/",
    "https://api.openai.com/v1/models",
    "https://evil.api.openai.com/v1/images/generations",
  ])("leave %s to others", async (url) => {
    const emulator = intercept();
    vi.spyOn(console, "error").mockReturnValue(); // msw tells of it
    await expect(fetch(url)).rejects.toThrow("fetch failed");
    expect(emulator.requests).toEqual([]);
  });

  it("respond for further origins, including the origin of the links", async () => {
    const origin = "https://images.example.com:8443";
    intercept({ origin }, { origins: [`${origin}/`, "https://proxy.example.com"] });
    const response = await fetch("https://proxy.example.com/api/v3/images/generations", arkInit());
    const { data } = (await response.json()) as ArkBody;
    expect(data[0]?.url).toMatch(/^https:\/\/images\.example\.com:8443\/ark-results\//);
    expect((await fetch(data[0]?.url ?? "")).status).toBe(200);
  });

  it("take one provider's link as the other's reference image", async () => {
    intercept();
    const { data } = (await (await fetch(arkUrl, arkInit({ size: "2048x4096" }))).json()) as ArkBody;
    const response = await askDashscope("https://dashscope.aliyuncs.com", [data[0]?.url ?? ""]);
    // The ratio of a placeholder, which replaces images of other hosts, would be 1.
    expect(((await response.json()) as DashscopeBody).usage).toMatchObject({
      output_width: 1440,
      output_height: 2896,
    });
  });

  it("stream each event when it is made", async () => {
    intercept({ millisecondsPerImage: 80 });
    const batch = { stream: true, sequential_image_generation: "auto", prompt: "3 images" };
    const { times, text } = await readBody(await fetch(arkUrl, arkInit(batch)));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(120);
    expect(text).toContain("[DONE]");
  });

  it("serve clients of node:https", async () => {
    intercept();
    const { headers, body, method } = arkInit();
    const status = await new Promise((resolve, reject) => {
      https
        .request(arkUrl, { method, headers: Object.fromEntries(new Headers(headers)) }, (incoming) => {
          incoming.resume();
          resolve(incoming.statusCode);
        })
        .on("error", reject)
        .end(body);
    });
    expect(status).toBe(200);
  });
});

function post(url: string, body: object): Promise<Response> {
  const headers = { authorization: "Bearer k", "x-goog-api-key": "k", "x-key": "k" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

describe("faults through msw", () => {
  it("fail the fetch, or its body", async () => {
    const emulator = intercept();
    emulator.faults.add({ hangUp: true, times: 1 }, { body: { cutAfterBytes: 10 }, times: 1 });
    await expect(fetch(arkUrl, arkInit())).rejects.toThrow(TypeError);
    const { text, error } = await readBody(await fetch(arkUrl, arkInit()));
    expect(text).toHaveLength(10);
    expect(error).toMatchObject({ message: "terminated" });
  });

  it("hang until the client disconnects", async () => {
    const emulator = intercept();
    emulator.faults.add({ hang: true, times: 1 });
    await expect(fetch(arkUrl, { ...arkInit(), signal: AbortSignal.timeout(50) })).rejects.toThrow("timeout");
    expect((await fetch(arkUrl, arkInit())).status).toBe(200);
  });
});
