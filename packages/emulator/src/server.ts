import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { baseUrlsAt } from "./base-urls.js";
import { isConnectionCut } from "./faults/connection-cut.js";
import { resetConnection, sendResponse } from "./http/send-response.js";
import type { ProviderName } from "./provider-name.js";
import type { Router } from "./router.js";

export interface ListenOptions {
  /** Default 0: any free port. */
  port?: number;
  /** Default `127.0.0.1`: this machine only. */
  host?: string;
  /** For logs. Called when a response is complete or cut off, or when the client has disconnected. */
  onFinished?: (request: FinishedRequest) => void;
}

/** One request that has ended. */
export interface FinishedRequest {
  /** The HTTP method. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** `undefined` if the request got no response. */
  readonly status: number | undefined;
  /** From the headers of the request to the end of the response. */
  readonly milliseconds: number;
}

/** A running emulator. */
export interface EmulatorServer {
  /** For example `http://127.0.0.1:40123`. */
  readonly url: string;
  /** The base URL of each API, such as `http://127.0.0.1:40123/openai/v1` for `openai`. */
  readonly baseUrls: Readonly<Record<ProviderName, string>>;
  /** Replaces `https://ark.cn-beijing.volces.com/api/v3`. The same as `baseUrls.ark`. */
  readonly arkBaseUrl: string;
  /** Replaces `https://dashscope.aliyuncs.com/api/v1`. The same as `baseUrls.dashscope`. */
  readonly dashscopeBaseUrl: string;
  /** Stops the server and ends all connections, including those of requests that hang. */
  close(): Promise<void>;
}

export async function listen(route: Router, options: ListenOptions = {}): Promise<EmulatorServer> {
  if ("onAnswered" in options) throw new TypeError('The option "onAnswered" is now called "onFinished".');
  const { port = 0, host = "127.0.0.1", onFinished } = options;
  const server = createServer();
  await startListening(server, port, host);
  const url = addressOf(server);
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // If the server listens on all addresses, only the client knows a host name of it.
    const origin = isWildcard(host) ? `http://${incoming.headers.host ?? new URL(url).host}` : url;
    if (onFinished !== undefined) reportEnd(incoming, outgoing, onFinished);
    void respond(route, { incoming, outgoing, origin });
  });
  const baseUrls = baseUrlsAt(url);
  return {
    url,
    baseUrls,
    arkBaseUrl: baseUrls.ark,
    dashscopeBaseUrl: baseUrls.dashscope,
    close: () => stop(server),
  };
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly origin: string;
}

/** Never rejects. An error ends only this connection. */
async function respond(route: Router, { incoming, outgoing, origin }: Exchange): Promise<void> {
  const disconnected = new AbortController();
  outgoing.on("close", () => disconnected.abort());
  outgoing.on("error", () => disconnected.abort());
  try {
    const response = await route(toRequest(incoming, origin, disconnected.signal), origin);
    await sendResponse(response, outgoing);
  } catch (error) {
    if (isConnectionCut(error)) await resetConnection(outgoing);
    else if (outgoing.headersSent || disconnected.signal.aborted) outgoing.destroy();
    else outgoing.writeHead(500).end(`The emulator failed: ${String(error)}`);
  }
}

function reportEnd(
  { method = "", url = "" }: IncomingMessage,
  outgoing: ServerResponse,
  onFinished: (request: FinishedRequest) => void,
): void {
  const startedAt = performance.now();
  outgoing.once("close", () => {
    const status = outgoing.headersSent ? outgoing.statusCode : undefined;
    const [path = ""] = url.split("?");
    onFinished({ method, path, status, milliseconds: performance.now() - startedAt });
  });
}

function toRequest(incoming: IncomingMessage, origin: string, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headersDistinct } = incoming;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  // A path such as "//host/path" must not change the host.
  const target = new URL(origin + (url.startsWith("/") ? url : "/"));
  if (!hasBody) return new Request(target, { method, headers, signal });
  return new Request(target, { method, headers, signal, body: Readable.toWeb(incoming), duplex: "half" });
}

function startListening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function addressOf(server: Server): string {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("The server does not listen on a port.");
  const host = isWildcard(bound.address) ? "127.0.0.1" : bound.address;
  return `http://${host.includes(":") ? `[${host}]` : host}:${bound.port}`;
}

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
