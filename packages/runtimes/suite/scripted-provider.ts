import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { listen, stop } from "./loopback.ts";

/** A provider that does what the emulator does not: it links wherever it is told, and waits between two events. */
export interface ScriptedProvider {
  readonly url: string;
  readonly close: () => Promise<void>;
}

/**
 * - `POST /link/<link>/…` answers as DashScope with that link as its one image.
 * - `POST /stream/…` answers as Ark with the first event of two, and with the second after `POST /go`.
 * - `POST /large/…` answers as Ark with a picture of 32 MB in base64, as fast as it is taken; `GET /large-sent` tells
 *   how many bytes were.
 * - `GET /redirect` leads to `/elsewhere`; `GET /elsewhere` tells how often it was asked.
 * - `GET /caught` tells how many connections the trap got.
 */
export async function startScripted(caught: () => number): Promise<ScriptedProvider> {
  let waiting: ServerResponse | undefined;
  let elsewhere = 0;
  let largeSent = 0;
  const server = createServer(({ url = "/" }, response) => {
    const [, what, link = ""] = url.split("/");
    if (what === "link") response.end(answerWithLink(decodeURIComponent(link)));
    else if (what === "stream") waiting = startStream(response);
    else if (what === "large") void sendLarge(response, (bytes) => (largeSent += bytes));
    else if (what === "large-sent") response.end(String(largeSent));
    else if (what === "redirect") response.writeHead(302, { location: "/elsewhere" }).end("moved");
    else if (what === "elsewhere") response.end(String(elsewhere++));
    else if (what === "caught") response.end(String(caught()));
    else {
      waiting?.end(COMPLETED);
      response.end();
    }
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

function answerWithLink(image: string): string {
  const message = { role: "assistant", content: [{ image }] };
  return JSON.stringify({
    output: { choices: [{ finish_reason: "stop", message }] },
    usage: { image_count: 1 },
    request_id: "scripted",
  });
}

const FIRST = toEvent("image_generation.partial_succeeded", {
  image_index: 0,
  url: "https://ark.example/1.jpeg",
  size: "1024x1024",
});
const COMPLETED = toEvent("image_generation.completed", { usage: { generated_images: 1 } });

function startStream(response: ServerResponse): ServerResponse {
  response.writeHead(200, { "content-type": "text/event-stream" }).write(FIRST);
  return response;
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
