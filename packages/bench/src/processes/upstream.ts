// The fastest possible provider on Node: every response is prepared, and only the model of a request is read.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { createDataUrls } from "../client-request.ts";
import {
  createResponse,
  IMAGES,
  type PreparedResponse,
  SERVICE_PREFIX,
  UPSTREAM_PREFIX,
} from "../payloads.ts";
import { portOf } from "../system/port-of.ts";
import { type ResponseId, WORKS } from "../works.ts";
import { endWithParent, replyToParent, tellParent } from "./parent.ts";

/** The commands for the upstream. */
export interface UpstreamOrder {
  /** Whether uploads are compared byte by byte instead of only counted. */
  readonly compareUploads?: boolean;
  /** Continues the held streams to their end, with this number of milliseconds between events. */
  readonly releaseHeld?: { readonly intervalMs: number };
}

/** Larger requests contain images. All others are small JSON. */
const UPLOAD_FROM_BYTES = 1024 * 1024;
const RESPONSE_IDS: readonly ResponseId[] = ["sse-held", ...WORKS.map(({ id }) => id)];

/** The model name, as clients send it or as a gateway maps it. */
const MODEL = new RegExp(`"(?:${SERVICE_PREFIX}|${UPSTREAM_PREFIX})([^"]+)"`);

const responses = new Map<string, PreparedResponse>(RESPONSE_IDS.map((id) => [id, createResponse(id)]));
const held: ((intervalMs: number) => void)[] = [];
let compareUploads = false;

endWithParent();
replyToParent((question) => {
  const { compareUploads: compare, releaseHeld }: UpstreamOrder = JSON.parse(question);
  compareUploads = compare ?? compareUploads;
  if (releaseHeld !== undefined) {
    for (const release of held.splice(0)) release(releaseHeld.intervalMs);
  }
});

const server = createServer((req, res) => {
  receive(req).then(
    (received) => respond(received, res),
    () => res.destroy(),
  );
});
// Connections stay open between rounds until the client closes them.
server.keepAliveTimeout = 0;
server.requestTimeout = 0;
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  tellParent({ kind: "listening", port: portOf(server) });
});

interface Received {
  readonly bytes: number;
  readonly contentType: string;
  /** The whole body if it is small; otherwise its first megabyte, unless uploads are compared. */
  readonly kept: Buffer;
}

function receive(req: IncomingMessage): Promise<Received> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    req.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes < UPLOAD_FROM_BYTES || compareUploads) chunks.push(chunk);
    });
    req.on("error", reject);
    req.on("end", () => {
      resolve({ bytes, contentType: req.headers["content-type"] ?? "", kept: Buffer.concat(chunks) });
    });
  });
}

function respond(received: Received, res: ServerResponse): void {
  if (received.bytes >= UPLOAD_FROM_BYTES) return respondToUpload(received, res);
  const text = received.kept.toString("latin1");
  const id = MODEL.exec(text)?.[1];
  const found = responses.get(id ?? "");
  if (found === undefined) return refuse(res, `No response for ${text.slice(0, 200)}`);
  if (found.contentType === "application/json") return sendWhole(found, res);
  res.writeHead(200, { "content-type": found.contentType });
  if (id === "sse-held") hold(found, res);
  else writeFrom(found, 0, res);
}

function sendWhole({ contentType, pieces: [body] }: PreparedResponse, res: ServerResponse): void {
  res.writeHead(200, { "content-type": contentType, "content-length": body?.length ?? 0 }).end(body);
}

/** Writes each event separately, with backpressure and the pauses of the response. */
function writeFrom(found: PreparedResponse, index: number, res: ServerResponse): void {
  const piece = found.pieces[index];
  if (piece === undefined) return void res.end();
  if (res.destroyed) return;
  const writeNext = (): void => writeFrom(found, index + 1, res);
  if (!res.write(piece)) res.once("drain", writeNext);
  else if (found.pauseMs === undefined) setImmediate(writeNext);
  else setTimeout(writeNext, found.pauseMs);
}

/** Sends the first event at once, and the others when they are released. */
function hold({ pieces }: PreparedResponse, res: ServerResponse): void {
  res.write(pieces[0]);
  held.push((intervalMs) => {
    let index = 1;
    const timer = setInterval(() => {
      res.write(pieces[index]);
      index += 1;
      if (index < pieces.length) return;
      clearInterval(timer);
      res.end();
    }, intervalMs);
  });
}

function respondToUpload(received: Received, res: ServerResponse): void {
  const problem = findProblem(received);
  const whole = responses.get("edits");
  if (problem !== undefined || whole === undefined) return refuse(res, problem ?? "");
  sendWhole(whole, res);
}

/** An upload that arrives as a form came through a gateway that does not convert it. */
function findProblem({ bytes, contentType, kept }: Received): string | undefined {
  const isForm = contentType.startsWith("multipart/");
  const images = IMAGES[isJsonImages(kept) ? "json-images" : "edits"];
  const least = images.count * (isForm ? images.bytes : Math.ceil(images.bytes / 3) * 4);
  if (bytes < least) return `The upload has ${bytes} bytes, fewer than ${least}.`;
  if (!compareUploads || isForm) return undefined;
  const { image }: { image?: unknown } = JSON.parse(kept.toString());
  const isRight = isDeepStrictEqual(image, createDataUrls(images));
  return isRight ? undefined : "The upload does not contain the images that were sent.";
}

/** The model is before the images. */
function isJsonImages(kept: Buffer): boolean {
  return MODEL.exec(kept.toString("latin1", 0, 1024))?.[1] === "json-images";
}

function refuse(res: ServerResponse, message: string): void {
  const body = JSON.stringify({ error: { code: "bench", message } });
  res.writeHead(400, { "content-type": "application/json" }).end(body);
}
