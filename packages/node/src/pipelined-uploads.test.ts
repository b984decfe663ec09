import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createGateway, hashApiKey } from "@calotype/core";
import { expect, it, onTestFinished, vi } from "vitest";
import { toNodeHandler } from "./to-node-handler.js";

const API_KEY = "sk-of-a-client-that-pipelines";
const MODEL = "seedream-4-5-251128";
const BOUNDARY = "between-the-parts";
const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** A provider whose link tells the prompt and what the image is made of. */
const tellImage: typeof globalThis.fetch = async (_url, init) => {
  const { prompt, image } = (await new Response(init?.body).json()) as Record<string, string | string[]>;
  const [dataUrl = ""] = [image ?? []].flat();
  const bytes = Buffer.from(dataUrl.slice(dataUrl.indexOf(",") + 1), "base64").subarray(PNG.length);
  const url = `https://x.test/${String(prompt)}/${bytes.length}/${[...new Set(bytes)].join("+")}`;
  return Response.json({ created: 1, data: [{ url }], usage: { generated_images: 1 } });
};

async function serveGateway(): Promise<number> {
  const gateway = createGateway({
    models: { [MODEL]: { family: "seedream" } },
    channels: [{ id: "ark", family: "seedream", apiKey: "key-of-ark" }],
    callers: [{ id: "me", hash: hashApiKey(API_KEY) }],
    fetch: tellImage,
  });
  const server = createServer(toNodeHandler(gateway));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(async () => {
    server.close();
    await gateway.close();
  });
  return (server.address() as AddressInfo).port;
}

/** An image of one byte, as JSON or as a form. */
function writeRequest(byte: number, length: number, isForm: boolean): Buffer {
  const image = Buffer.concat([Buffer.from(PNG), Buffer.alloc(length, byte)]);
  const field = (name: string, text: string): string =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
  const form = Buffer.concat([
    Buffer.from(`${field("model", MODEL)}${field("prompt", `p${byte}`)}--${BOUNDARY}\r\n`),
    Buffer.from('content-disposition: form-data; name="image"; filename="a.png"\r\n\r\n'),
    image,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  const dataUrl = `data:image/png;base64,${image.toString("base64")}`;
  const json = Buffer.from(JSON.stringify({ model: MODEL, prompt: `p${byte}`, image: dataUrl }));
  const body = isForm ? form : json;
  const head = [
    `POST /v1/images/${isForm ? "edits" : "generations"} HTTP/1.1`,
    "host: gateway",
    `authorization: Bearer ${API_KEY}`,
    `content-type: ${isForm ? `multipart/form-data; boundary=${BOUNDARY}` : "application/json"}`,
    `content-length: ${body.length}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
}

it.each([7_919, 65_536, 100_003, 10_000_000])(
  "requests that follow one another on a socket keep their own bytes, sent in pieces of %i",
  async (pieceBytes) => {
    const port = await serveGateway();
    const sent = Array.from({ length: 8 }, (_, index) => {
      const length = index % 4 === 3 ? 900 : 150_000 + index * 7_001;
      return { byte: index + 1, length, bytes: writeRequest(index + 1, length, index % 2 === 0) };
    });
    const socket = connect(port, "127.0.0.1").setNoDelay(true);
    onTestFinished(() => void socket.destroy());
    let responses = "";
    socket.setEncoding("latin1").on("data", (text: string) => (responses += text));
    const wire = Buffer.concat(sent.map(({ bytes }) => bytes));
    for (let start = 0; start < wire.length; start += pieceBytes) {
      if (!socket.write(wire.subarray(start, start + pieceBytes))) await once(socket, "drain");
    }
    const told = (): (string | undefined)[] =>
      [...responses.matchAll(/x\.test\/([^"]+)/g)].map(([, link]) => link);
    await vi.waitFor(() => expect(told()).toHaveLength(sent.length));
    expect(told()).toEqual(sent.map(({ byte, length }) => `p${byte}/${length}/${byte}`));
  },
);
