import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { isConnectionCut } from "./faults/connection-cut.js";
import { resetConnection } from "./http/reset-connection.js";
import { sendResponse } from "./http/send-response.js";
import type { Router } from "./router.js";

export interface ListenOptions {
  /** Default 0: any free port. */
  port?: number;
  /** Default `127.0.0.1`: this machine only. */
  host?: string;
  /** Called when a request is over: answered in full, cut off, or left by its client. For logs. */
  onAnswered?: (answered: AnsweredRequest) => void;
}

/** One request that is over. */
export interface AnsweredRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Of the headers that were sent; `undefined` when none were. */
  readonly status: number | undefined;
  /** From its headers to its end. */
  readonly milliseconds: number;
}

/** A running emulator. */
export interface EmulatorServer {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** What stands for `https://ark.cn-beijing.volces.com/api/v3`. */
  readonly arkBaseUrl: string;
  /** What stands for `https://dashscope.aliyuncs.com/api/v1`. */
  readonly dashscopeBaseUrl: string;
  /** Stops it and ends every open connection, also of requests that hang. */
  close(): Promise<void>;
}

export async function listen(route: Router, options: ListenOptions = {}): Promise<EmulatorServer> {
  const { port = 0, host = "127.0.0.1", onAnswered } = options;
  const server = createServer();
  await startListening(server, port, host);
  const url = addressOf(server);
  server.on("request", (incoming: IncomingMessage, outgoing: ServerResponse) => {
    // Bound to every interface, only the client knows by which name it can reach us.
    const origin = isWildcard(host) ? `http://${incoming.headers.host ?? new URL(url).host}` : url;
    if (onAnswered !== undefined) reportEnd(incoming, outgoing, onAnswered);
    void answer(route, { incoming, outgoing, origin });
  });
  return {
    url,
    arkBaseUrl: `${url}/api/v3`,
    dashscopeBaseUrl: `${url}/api/v1`,
    close: () => stop(server),
  };
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly origin: string;
}

/** Never throws: whatever goes wrong ends this one connection. */
async function answer(route: Router, { incoming, outgoing, origin }: Exchange): Promise<void> {
  const left = new AbortController();
  outgoing.on("close", () => left.abort());
  outgoing.on("error", () => left.abort());
  try {
    const response = await route(toRequest(incoming, origin, left.signal), origin);
    await sendResponse(response, outgoing);
  } catch (error) {
    if (isConnectionCut(error)) await resetConnection(outgoing);
    else if (outgoing.headersSent || left.signal.aborted) outgoing.destroy();
    else outgoing.writeHead(500).end(`The emulator failed: ${String(error)}`);
  }
}

function reportEnd(
  { method = "", url = "" }: IncomingMessage,
  outgoing: ServerResponse,
  onAnswered: (answered: AnsweredRequest) => void,
): void {
  const startedAt = performance.now();
  outgoing.once("close", () => {
    const status = outgoing.headersSent ? outgoing.statusCode : undefined;
    const [path = ""] = url.split("?");
    onAnswered({ method, path, status, milliseconds: performance.now() - startedAt });
  });
}

function toRequest(incoming: IncomingMessage, origin: string, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headersDistinct } = incoming;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value);
  }
  const hasBody = method !== "GET" && method !== "HEAD";
  // "//host/path" must stay a path of ours.
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
