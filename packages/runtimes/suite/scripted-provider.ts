import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { listen, stop } from "./loopback.ts";

/**
 * A provider with behaviour that the emulator does not have: it links to any address, and waits between two events.
 */
export interface ScriptedProvider {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/** The behaviour by the first segment of the path. */
type Script = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * - `POST /link/<link>/…` responds as DashScope with that link as its one image.
 * - `POST /stream/…` responds as Ark with the first event of two, and with the second after `POST /go`. `POST /break` breaks
 *   the response off, and `POST /break-inside` does so in the middle of the second event.
 * - `POST /large/…` responds as Ark with an image of 32 MB in base64, as fast as it is taken; `GET /large-sent` tells
 *   how many bytes were.
 * - `POST /keep/…` responds as Ark; `GET /kept` tells the body of the last such request.
 * - `POST /quote/…` responds as Ark with events that quote the `authorization` header, in pieces of a few bytes.
 * - `POST /gzip/…` responds as Ark with a compressed body.
 * - `GET /redirect` leads to `/elsewhere`; `GET /elsewhere` tells how often it was asked.
 * - `GET /caught` tells how many connections the trap got.
 */
export async function startScripted(caught: () => number): Promise<ScriptedProvider> {
  const scripts = createScripts(caught);
  const server = createServer((request, response) => {
    const what = request.url?.split("/")[1] ?? "";
    const script = scripts.get(what);
    if (script === undefined) response.writeHead(404).end();
    else script(request, response);
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      await stop(server);
    },
  };
}

function createScripts(caught: () => number): ReadonlyMap<string, Script> {
  let waiting: ServerResponse | undefined;
  let elsewhere = 0;
  let largeSent = 0;
  let kept = "";
  return new Map<string, Script>([
    [
      "link",
      ({ url = "" }, response) => response.end(respondWithLink(decodeURIComponent(url.split("/")[2] ?? ""))),
    ],
    ["stream", (_request, response) => (waiting = startStream(response))],
    ["break", (_request, response) => [waiting?.destroy(), response.end()]],
    [
      "break-inside",
      async (_request, response) => {
        waiting?.write(COMPLETED.slice(0, -10));
        // Some clients drop what they have not read when a connection breaks off.
        await setTimeout(200);
        waiting?.destroy();
        response.end();
      },
    ],
    ["go", (_request, response) => [waiting?.end(COMPLETED), response.end()]],
    ["large", (_request, response) => sendLarge(response, (bytes) => (largeSent += bytes))],
    ["large-sent", (_request, response) => response.end(String(largeSent))],
    [
      "keep",
      async (request, response) => {
        kept = await text(request);
        response.writeHead(200, JSON_TYPE).end(RESPONSE);
      },
    ],
    ["kept", (_request, response) => response.end(kept)],
    ["quote", ({ headers }, response) => sendQuote(response, headers.authorization ?? "")],
    [
      "gzip",
      (_request, response) =>
        response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" }).end(gzipSync(RESPONSE)),
    ],
    ["redirect", (_request, response) => response.writeHead(302, { location: "/elsewhere" }).end("moved")],
    ["elsewhere", (_request, response) => response.end(String(elsewhere++))],
    ["caught", (_request, response) => response.end(String(caught()))],
  ]);
}

const JSON_TYPE = { "content-type": "application/json" };
const IMAGE = { url: "https://ark.example/1.jpeg", size: "1024x1024" };
const RESPONSE = JSON.stringify({ created: 1_763_683_200, data: [IMAGE], usage: { generated_images: 1 } });

function respondWithLink(image: string): string {
  const message = { role: "assistant", content: [{ image }] };
  return JSON.stringify({
    output: { choices: [{ finish_reason: "stop", message }] },
    usage: { image_count: 1 },
    request_id: "scripted",
  });
}

const FIRST = toEvent("image_generation.partial_succeeded", { image_index: 0, ...IMAGE });
const COMPLETED = toEvent("image_generation.completed", { usage: { generated_images: 1 } });

function startStream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" }).write(FIRST);
  return response;
}

/** Each piece is sent separately, so that the quoted key is spread over several pieces. */
async function sendQuote(response: ServerResponse, quoted: string): Promise<void> {
  const error = { code: "InvalidApiKey", message: `The key "${quoted}" is wrong.` };
  const events = FIRST + toEvent("image_generation.partial_failed", { image_index: 1, error }) + COMPLETED;
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const piece of events.match(/[^]{1,11}/g) ?? []) {
    response.write(piece);
    await setTimeout(2);
  }
  response.end();
}

async function sendLarge(response: ServerResponse, onSent: (bytes: number) => void): Promise<void> {
  const part = "A".repeat(64 * 1024);
  response
    .writeHead(200, { "content-type": "application/json" })
    .write('{"created":1763683200,"data":[{"b64_json":"');
  for (let parts = 0; parts < 512; parts++) {
    if (!response.write(part)) await once(response, "drain");
    onSent(part.length);
  }
  response.end('","size":"2048x2048"}],"usage":{"generated_images":1}}');
}

function toEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
