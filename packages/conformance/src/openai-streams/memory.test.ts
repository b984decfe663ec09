import { fork } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { completedEvent, DONE, report } from "../settlement/making.ts";
import { open, responseTo } from "../support/http-client.ts";
import { GENERATIONS } from "../support/image-calls.ts";
import { listen } from "../support/listen.ts";
import { MODELS } from "./models.ts";

const PROGRAM = fileURLToPath(new URL("server-process.ts", import.meta.url));
const MIB = 1024 * 1024;
const IMAGES = 2;
const IMAGE_BYTES = 30 * MIB;
const PIECE = Buffer.alloc(64 * 1024, "A");

/** Far below an image, and above what the sockets of a request hold. */
const ALLOWED = 8 * MIB;

/** A part of a body: text, or this number of bytes. */
type EventPart = string | number;

async function sendParts(response: ServerResponse, type: string, parts: readonly EventPart[]): Promise<void> {
  response.writeHead(200, { "content-type": type });
  for (const part of parts) {
    if (typeof part === "string") await write(response, part);
    else for (let sent = 0; sent < part; sent += PIECE.length) await write(response, PIECE);
  }
  response.end();
}

async function write(response: ServerResponse, piece: string | Uint8Array): Promise<void> {
  if (!response.write(piece)) await once(response, "drain");
}

const IMAGE: readonly EventPart[] = ['{"b64_json":"', IMAGE_BYTES, '","size":"2048x2048"}'];
const EVENT: readonly EventPart[] = [
  'data: {"type":"image_generation.partial_succeeded","b64_json":"',
  IMAGE_BYTES,
  '"}\n\n',
];
const inJson = (images: readonly (readonly EventPart[])[]): readonly EventPart[] => [
  '{"data":[',
  ...images.flatMap((image, index) => (index === 0 ? image : [",", ...image])),
  `],"usage":${report(images.length)}}`,
];
const LINKED_BYTES = (IMAGE_BYTES / 4) * 3;

/** Responds to each call as the scenario says, and to each download with an image. */
const SCENARIOS: Readonly<
  Record<string, { readonly model: string; readonly type: string; readonly parts: readonly EventPart[] }>
> = {
  "the provider's events": {
    model: MODELS.streaming,
    type: "text/event-stream",
    parts: [...EVENT, ...EVENT, completedEvent(report(IMAGES)), DONE],
  },
  JSON: { model: MODELS.streaming, type: "application/json", parts: inJson([IMAGE, IMAGE]) },
  "several calls": { model: MODELS.single, type: "application/json", parts: inJson([IMAGE]) },
  "links that are downloaded": { model: MODELS.links, type: "application/json", parts: [] },
};

async function startProvider({
  type,
  parts,
}: {
  readonly type: string;
  readonly parts: readonly EventPart[];
}): Promise<string> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === "GET") return sendParts(response, "image/png", [LINKED_BYTES]);
    await json(request);
    const image = { image: `http://${request.headers.host}/1.png` };
    const content = Array.from({ length: IMAGES }, () => image);
    const links = { output: { choices: [{ message: { content } }] }, usage: { image_count: IMAGES } };
    return sendParts(response, type, parts.length === 0 ? [JSON.stringify(links)] : parts);
  };
  const { url, close } = await listen((request, response) => void respond(request, response));
  onTestFinished(close);
  return url;
}

/** Starts a gateway in a separate process. */
async function startGateway(baseUrl: string) {
  const child = fork(PROGRAM, [baseUrl], { execArgv: ["--expose-gc"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [{ port }] = await once(child, "message");
  const tell = async (order: "start" | "stop"): Promise<number> => {
    child.send(order);
    const [growth] = await once(child, "message");
    return Number(growth);
  };
  return { url: `http://127.0.0.1:${port}`, tell };
}

/** Reads the first image quickly, and then slowly, so that everything before the client has to wait. */
async function readStream(url: string, model: string): Promise<{ bytes: number; end: string }> {
  const headers = { authorization: "Bearer caller-key", "content-type": "application/json" };
  const body = { model, prompt: "x", n: IMAGES, stream: true, response_format: "b64_json" };
  const outgoing = open(url, { path: GENERATIONS, headers }).end(JSON.stringify(body));
  const incoming = await responseTo(outgoing);
  let bytes = 0;
  let pausedAt = 0;
  let end = "";
  for await (const chunk of incoming) {
    bytes += chunk.length;
    end = (end + Buffer.from(chunk).subarray(-400).toString()).slice(-400);
    if (bytes < IMAGE_BYTES || bytes - pausedAt < 5 * MIB) continue;
    pausedAt = bytes;
    await pause(100);
  }
  return { bytes, end };
}

it.each(Object.keys(SCENARIOS))("two images of 30 MB from %s are never held", async (source) => {
  const scenario = SCENARIOS[source];
  if (scenario === undefined) throw new Error(source);
  const { url, tell } = await startGateway(await startProvider(scenario));
  await tell("start");
  const { bytes, end } = await readStream(url, scenario.model);
  const growth = await tell("stop");
  expect(bytes).toBeGreaterThan(IMAGES * IMAGE_BYTES);
  expect(end).toContain(`"generated_images":${IMAGES}`);
  expect(end).toMatch(/data: \[DONE\]\n\n$/);
  expect(growth).toBeLessThan(ALLOWED);
});
