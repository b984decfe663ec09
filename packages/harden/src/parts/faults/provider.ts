import { once } from "node:events";
import { createServer, type IncomingMessage, ServerResponse } from "node:http";
import { constants, createSecureServer, Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { createServer as createTlsServer } from "node:https";
import type { Server, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { TLSSocket } from "node:tls";
import {
  completedEvent,
  DONE,
  imageEvent,
  report,
  writeMaking,
} from "@calotype/conformance/settlement/making";
import { type Cell, isProviderFault, isStreamKind, type Protocol, type ProviderFault } from "./cells.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "./certificate.ts";
import { IMAGES } from "./expectation.ts";

/** A provider of family A that has a fault. */
export interface FaultyProvider {
  readonly baseUrl: string;
  /** The number of calls since the last {@link FaultyProvider.setFault}. */
  readonly calls: () => number;
  /** The number of calls over HTTP/2. */
  readonly http2Calls: () => number;
  /** Resolves with the next call. */
  readonly nextCall: () => Promise<void>;
  /** @param delayMs how long the provider does nothing after it got a call. Default 0. */
  readonly setFault: (fault: Behaviour, delayMs?: number) => void;
  readonly close: () => Promise<void>;
}

/** What the provider does: a fault, or a valid response that takes time. */
export type Behaviour = ProviderFault | "takes its time" | "sends a large body";

type Request = IncomingMessage | Http2ServerRequest;
/** The methods that responses of both versions of HTTP have. */
interface Reply {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string, written: () => void): boolean;
  end(text: string): unknown;
  /** Responses of HTTP/2 have it, although their types do not say so. */
  flushHeaders?(): void;
  on(event: "error", listener: () => void): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** How long the provider works if the fault is not its own. */
const WORK_MS = 400;
/** The gateway relays a response of this size while it arrives. */
const LARGE_BYTES = 1_500_000;

/** Faults of clients that need a slow or large response. */
const RESPONSE_FAULTS: ReadonlySet<string> = new Set([
  "client leaves in the response",
  "client reads slowly",
  "client does not read",
]);

/** The behaviour for a cell. */
export function behaviourOf({ fault, kind }: Cell): Behaviour {
  if (isProviderFault(fault)) return fault;
  if (RESPONSE_FAULTS.has(fault)) {
    return isStreamKind(kind) ? "is slow" : "sends a large body";
  }
  return fault === "client pauses in its upload" ? "none" : "takes its time";
}

export async function startProvider(protocol: Protocol): Promise<FaultyProvider> {
  let fault: Behaviour = "none";
  let delay = 0;
  let calls = 0;
  let http2Calls = 0;
  let onCall: (() => void) | undefined;
  const sockets = new Set<Socket>();
  const server = createServerFor(protocol, (request, reply) => {
    reply.on("error", () => undefined); // the gateway may disconnect
    request.on("error", () => undefined);
    const isStream = readWhetherStream(request);
    calls++;
    if (request instanceof Http2ServerRequest) http2Calls++;
    onCall?.();
    const work = async (): Promise<void> => {
      const call = { request, reply, isStream: await isStream };
      if (delay > 0) await sleep(delay);
      await respond(call, fault);
    };
    void work();
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The provider has no port.");
  const scheme = protocol === "http/1.1" ? "http" : "https";
  return {
    baseUrl: `${scheme}://${protocol === "http/1.1" ? "127.0.0.1" : "localhost"}:${address.port}`,
    calls: () => calls,
    http2Calls: () => http2Calls,
    nextCall: () =>
      new Promise((resolve) => {
        onCall = resolve;
      }),
    setFault(next, delayMs = 0) {
      fault = next;
      delay = delayMs;
      calls = 0;
    },
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function createServerFor(protocol: Protocol, listener: (request: Request, reply: Reply) => void): Server {
  const tls = { cert: CERTIFICATE, key: CERTIFICATE_KEY };
  if (protocol === "http/1.1") return createServer(listener);
  return protocol === "TLS" ? createTlsServer(tls, listener) : createSecureServer(tls, listener);
}

async function readWhetherStream(request: Request): Promise<boolean> {
  let text = "";
  try {
    for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  } catch {
    return false; // the gateway disconnected
  }
  return text.includes('"stream":true');
}

interface Call {
  readonly request: Request;
  readonly reply: Reply;
  readonly isStream: boolean;
}

const PIECE_MS = 30;

async function respond(call: Call, fault: Behaviour): Promise<void> {
  const { reply, isStream } = call;
  switch (fault) {
    case "none":
      begin(call).end(bodyOf(isStream));
      return;
    case "takes its time":
      await sleep(WORK_MS);
      begin(call).end(bodyOf(isStream));
      return;
    case "sends a large body":
      begin(call).end(largeBody());
      return;
    case "is slow":
      begin(call);
      for (const piece of piecesOf(isStream)) {
        await sleep(PIECE_MS);
        await write(reply, piece);
      }
      reply.end("");
      return;
    case "refuses the connection": // it is not there
    case "stalls before the head":
      return;
    case "resets before the head":
      reset(reply);
      return;
    case "resets after the head":
      begin(call).flushHeaders?.();
      await sleep(PIECE_MS);
      reset(reply);
      return;
    case "resets in the body":
    case "resets inside an event":
    case "stalls in the body":
      begin(call);
      await write(reply, isStream ? imageEvent(0) : bodyOf(false).slice(0, 40));
      if (fault === "resets inside an event") await write(reply, imageEvent(1).slice(0, 60));
      await sleep(PIECE_MS);
      if (fault !== "stalls in the body") reset(reply);
      return;
    case "responds with 400":
    case "responds with 401":
    case "responds with 404":
    case "responds with 429":
    case "responds with 500":
    case "responds with 503": {
      const status = STATUSES[fault];
      send(
        reply,
        status,
        "application/json",
        JSON.stringify({ error: { code: CODES[status], message: "No." } }),
      );
      return;
    }
    case "sends truncated JSON":
      send(reply, 200, "application/json", bodyOf(false).slice(0, -20));
      return;
    case "sends HTML with 200":
      send(reply, 200, "text/html", "<html><body>It works</body></html>");
      return;
    case "sends HTML with 503":
      send(reply, 503, "text/html", "<html><body>Bad gateway</body></html>");
      return;
    case "sends an empty 200":
      send(reply, 200, "application/json", "");
  }
}

const STATUSES = {
  "responds with 400": 400,
  "responds with 401": 401,
  "responds with 404": 404,
  "responds with 429": 429,
  "responds with 500": 500,
  "responds with 503": 503,
} as const;

const CODES = {
  400: "InputTextSensitiveContentDetected",
  401: "AuthenticationError",
  404: "InvalidEndpointOrModel.NotFound",
  429: "ModelAccountRpmRateLimitExceeded",
  500: "InternalServiceError",
  503: "ServerOverloaded",
} as const;

function send(reply: Reply, status: number, type: string, body: string): void {
  reply.writeHead(status, { "content-type": type });
  reply.end(body);
}

function begin({ reply, isStream }: Call): Reply {
  reply.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
  return reply;
}

/** Breaks the connection of HTTP/1.1, or the stream of HTTP/2. */
function reset(reply: Reply): void {
  if (reply instanceof Http2ServerResponse) reply.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else if (reply instanceof ServerResponse) resetSocket(reply.socket);
}

/** A TLS socket cannot be reset by itself. */
function resetSocket(socket: Socket | null): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket?.resetAndDestroy();
}

function write(reply: Reply, text: string): Promise<void> {
  return new Promise((resolve) => {
    reply.write(text, () => resolve());
    // After its connection has closed, a reply does not call back.
    reply.once("close", resolve);
  });
}

function bodyOf(isStream: boolean): string {
  return writeMaking(isStream ? "events" : "Seedream", { images: IMAGES, usage: report(IMAGES) });
}

function piecesOf(isStream: boolean): readonly string[] {
  if (isStream) return [imageEvent(0), imageEvent(1), completedEvent(report(IMAGES)), DONE];
  const body = bodyOf(false);
  return [body.slice(0, 30), body.slice(30, 90), body.slice(90)];
}

function largeBody(): string {
  const data = Array.from({ length: IMAGES }, () => ({
    b64_json: "A".repeat(LARGE_BYTES),
    size: "2048x2048",
  }));
  const text = JSON.stringify({ model: "ep-1", created: 1_763_683_200, data });
  return `${text.slice(0, -1)},"usage":${report(IMAGES)}}`;
}
