import { createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { readText } from "../../support/workspace.js";
import {
  aiohttp,
  axios,
  httpx,
  openaiPython,
  sendOnWire,
  type Varying,
  type WireRequest,
} from "./http-libraries.js";
import { editBody, generateBody } from "./openai-python.js";

const DATA = Buffer.from("PNGDATA");
const PATH = "/v1/images/generations";
const EDITS = "/v1/images/edits";
const apiKey = "KEY";
const AUTHORIZATION = { Authorization: "Bearer KEY" };
const JSON_TYPE = { "Content-Type": "application/json" };

/**
 * Requests recorded from the libraries themselves, at a socket. The line ends are those of the repository, and the host is
 * replaced.
 */
const RECORDINGS: readonly { readonly name: string; readonly build: (varying: Varying) => WireRequest }[] = [
  {
    name: "openai-python-generate",
    build: (varying) =>
      openaiPython(varying, {
        path: PATH,
        apiKey,
        body: generateBody({
          model: "m",
          prompt: "一只橘猫",
          n: 2,
          size: "1024x1024",
          quality: "high",
          background: "opaque",
          output_format: "png",
          moderation: "low",
        }),
      }),
  },
  {
    name: "openai-python-edit-list",
    build: (varying) =>
      openaiPython(varying, {
        path: EDITS,
        apiKey,
        body: {
          form: [
            { name: "prompt", value: "换成夜景" },
            { name: "model", value: "m" },
            { name: "n", value: "1" },
            { name: "image[]", value: DATA, filename: "猫 cat.png", type: "image/png" },
            { name: "image[]", value: DATA, filename: "b.jpeg", type: "image/jpeg" },
          ],
        },
      }),
  },
  {
    name: "openai-python-edit",
    build: (varying) => {
      const fields = {
        model: "m",
        prompt: "换成夜景",
        n: 2,
        size: "1024x1024",
        quality: "high",
        background: "opaque",
      };
      const { form } = editBody(fields, [DATA]) as {
        readonly form: readonly { readonly filename?: string }[];
      };
      const renamed = form.map((part) =>
        part.filename === undefined ? part : { ...part, filename: "猫 cat.png" },
      );
      return openaiPython(varying, { path: EDITS, apiKey, body: { form: renamed as never } });
    },
  },
  {
    name: "openai-python-stream",
    build: (varying) =>
      openaiPython(varying, {
        path: PATH,
        apiKey,
        body: generateBody({ model: "m", prompt: "a", stream: true }),
      }),
  },
  { name: "openai-python-models", build: (varying) => openaiPython(varying, { path: "/v1/models", apiKey }) },
  {
    name: "aiohttp-json",
    build: (varying) =>
      aiohttp(varying, {
        path: PATH,
        headers: { ...AUTHORIZATION, ...JSON_TYPE },
        body: {
          json: { model: "m", prompt: "一只橘猫 🐈", n: 1, size: "512x512", response_format: "b64_json" },
        },
      }),
  },
  {
    name: "aiohttp-form",
    build: (varying) =>
      aiohttp(varying, {
        path: EDITS,
        headers: AUTHORIZATION,
        body: {
          form: [
            { name: "model", value: "m" },
            { name: "prompt", value: "换成夜景" },
            { name: "n", value: "1" },
            { name: "response_format", value: "b64_json" },
            {
              name: "image[]",
              value: DATA,
              filename: "d0904e76-3f31-4e26-8218-6f0d41d64f36.png",
              type: "image/png",
            },
          ],
        },
      }),
  },
  {
    name: "comfyui",
    build: (varying) =>
      aiohttp(varying, {
        path: "/proxy/byteplus/api/v3/images/generations",
        headers: { Accept: "application/json", ...AUTHORIZATION, "Comfy-Env": "local-git", ...JSON_TYPE },
        body: { json: { model: "m", image: [] } },
      }),
  },
  {
    name: "httpx-json",
    build: (varying) =>
      httpx(varying, {
        path: "/api/v3/images/generations",
        headers: { ...JSON_TYPE, ...AUTHORIZATION },
        body: { json: { model: "m", prompt: "一只橘猫" } },
      }),
  },
  {
    name: "httpx-form",
    build: (varying) =>
      httpx(varying, {
        path: EDITS,
        headers: AUTHORIZATION,
        body: {
          form: [
            { name: "model", value: "m" },
            { name: "prompt", value: "at night" },
            { name: "n", value: "2" },
            { name: "image[]", value: DATA, filename: "image.png", type: "image/png" },
          ],
        },
      }),
  },
  {
    name: "axios-json",
    build: (varying) =>
      axios(varying, {
        path: PATH,
        apiKey,
        body: { json: { prompt: "一只橘猫", model: "m", response_format: "b64_json", n: 1 } },
      }),
  },
  {
    name: "axios-form",
    build: (varying) =>
      axios(varying, {
        path: EDITS,
        apiKey,
        body: {
          form: [
            { name: "image[]", value: DATA, filename: "a.png", type: "image/png" },
            { name: "prompt", value: "x" },
            { name: "model", value: "gpt-image-1" },
            { name: "n", value: "1" },
          ],
        },
      }),
  },
  {
    name: "axios-form-of-streams",
    build: (varying) =>
      axios(varying, {
        path: EDITS,
        apiKey,
        streams: true,
        body: {
          form: [
            { name: "model", value: "m" },
            { name: "prompt", value: "at night" },
            { name: "image[]", value: DATA, filename: "猫.png", type: "image/png" },
          ],
        },
      }),
  },
  { name: "axios-get", build: (varying) => axios(varying, { path: "/v1/models", apiKey }) },
];

describe("a request of a client without a package for Node", () => {
  it.each(RECORDINGS)("has the bytes that the library sends: $name", async ({ name, build }) => {
    const recorded = readText(`packages/conformance/fixtures/clients/${name}.http`).replaceAll("\n", "\r\n");
    const boundary = /boundary=(\S+)/.exec(recorded)?.[1];

    const sent = await record(
      build({ host: "gateway.example.com", ...(boundary !== undefined && { boundary }) }),
    );

    expect(sent).toBe(recorded);
  });
});

/** Sends a request to a socket, and returns all that arrives there. */
async function record(request: WireRequest): Promise<string> {
  let received = "";
  const server = createServer((socket) => {
    socket.setEncoding("utf8").on("data", (text) => {
      received += String(text);
      if (isComplete(received))
        socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  await sendOnWire(`http://127.0.0.1:${address.port}`, request);
  return received;
}

function isComplete(received: string): boolean {
  const end = received.indexOf("\r\n\r\n");
  if (end === -1) return false;
  if (/^transfer-encoding: chunked/im.test(received)) return received.endsWith("\r\n0\r\n\r\n");
  const length = Number(/^content-length: (\d+)/im.exec(received)?.[1] ?? 0);
  return Buffer.byteLength(received.slice(end + 4)) >= length;
}
