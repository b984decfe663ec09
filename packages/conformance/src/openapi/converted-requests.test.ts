import { toNodeHandler } from "@calotype/node";
import { expect, it, onTestFinished } from "vitest";
import { send } from "../support/http-client.js";
import { listen } from "../support/listen.js";
import { CALLER_KEY, QWEN_IMAGE, SEEDREAM, startGateway } from "../support/test-gateway.js";
import { useProviders } from "../support/use-providers.js";
import { compareWithDocument } from "./check-response.js";

const providers = useProviders();

const CHAT = "/ai/v1/chat/completions";
const GOOGLE = `/ai/v1beta/models/${SEEDREAM}`;
const DASHSCOPE = "/ai/api/v1/services/aigc";
const FOX = "a red fox";
const CHAT_FOX = { model: SEEDREAM, messages: [{ role: "user", content: FOX }] };
const GOOGLE_FOX = { contents: [{ parts: [{ text: FOX }] }] };
const DASHSCOPE_FOX = {
  model: QWEN_IMAGE,
  input: { messages: [{ role: "user", content: [{ text: FOX }] }] },
};

async function serve() {
  const { gateway } = startGateway(providers(), {
    basePath: "/ai",
    chatCompletions: true,
    geminiEndpoint: true,
    cors: { origins: ["https://shop.example"] },
  });
  const { url, close } = await listen(toNodeHandler(gateway));
  onTestFinished(close);
  return async (path: string, body: object | undefined, headers: Record<string, string> = {}) => {
    const call = {
      method: body === undefined ? "GET" : "POST",
      path,
      headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const response = await send(url, call);
    expect(compareWithDocument(call, response)).toEqual([]);
    return response;
  };
}

it.each<[path: string, body: object, status: number]>([
  [CHAT, CHAT_FOX, 200],
  [CHAT, { ...CHAT_FOX, stream: true, stream_options: { include_usage: true } }, 200],
  [CHAT, { ...CHAT_FOX, messages: [] }, 400],
  [`${GOOGLE}:generateContent`, GOOGLE_FOX, 200],
  [`${GOOGLE}:generateContent`, {}, 400],
  [`${GOOGLE}:streamGenerateContent?alt=sse`, GOOGLE_FOX, 200],
  [`${GOOGLE}:streamGenerateContent`, GOOGLE_FOX, 400],
  [`${DASHSCOPE}/image-generation/generation`, DASHSCOPE_FOX, 400],
])("the response of %s is as the document describes it (%#)", async (path, body, status) => {
  const post = await serve();
  expect((await post(path, body)).status).toBe(status);
});

it.each([
  ["multimodal-generation/generation", DASHSCOPE_FOX],
  ["image-generation/generation", DASHSCOPE_FOX],
  ["text2image/image-synthesis", { model: QWEN_IMAGE, input: { prompt: FOX } }],
])("a task of DashScope's %s is as the document describes it until its end", async (path, body) => {
  const post = await serve();
  const submitted = await post(`${DASHSCOPE}/${path}`, body, { "x-dashscope-async": "enable" });
  expect(submitted.status).toBe(200);
  const { task_id: id } = JSON.parse(submitted.text).output;
  await expect
    .poll(async () => JSON.parse((await post(`/ai/api/v1/tasks/${id}`, undefined)).text).output.task_status)
    .toBe("SUCCEEDED");
  expect((await post(`/ai/api/v1/tasks/${id}/cancel`, {})).status).toBe(409);
  const missing = await post(`/ai/api/v1/tasks/task_${"0".repeat(32)}`, undefined);
  expect(JSON.parse(missing.text).output.task_status).toBe("UNKNOWN");
});

it("a page of an allowed origin may send the headers of Google's SDK", async () => {
  const { gateway } = startGateway(providers(), {
    basePath: "/ai",
    geminiEndpoint: true,
    cors: { origins: ["https://shop.example"] },
  });
  const { url, close } = await listen(toNodeHandler(gateway));
  onTestFinished(close);
  const { status, headers } = await send(url, {
    method: "OPTIONS",
    path: `${GOOGLE}:generateContent`,
    headers: {
      origin: "https://shop.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,x-goog-api-client,x-goog-api-key",
    },
  });
  expect([status, headers["access-control-allow-headers"]?.split(", ")]).toEqual([
    204,
    expect.arrayContaining(["content-type", "x-goog-api-client", "x-goog-api-key"]),
  ]);
});
