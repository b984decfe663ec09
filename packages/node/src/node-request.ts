import type { IncomingMessage, ServerResponse } from "node:http";
import { type ClientSignal, type GatewayRequest, type HeaderReader, toChunks } from "@calotype/core/adapter";
import { markOwnChunk } from "./own-chunks.js";

/** What a framework knows about a request in addition to `node:http`. */
export interface HostRequest {
  /** The whole path, mount path included. Default: the path of the request line. */
  readonly url?: string;
  /**
   * The path at which the gateway is mounted, such as `/ai`: everything below it belongs to the gateway. `/`: every
   * path belongs to the gateway. If absent, the mount path is unknown, and the gateway takes only paths that are
   * certainly its own.
   */
  readonly mountPath?: string | undefined;
  /** Whether the client's connection is encrypted, also if a trusted proxy says so. Default: whether the socket is. */
  readonly isEncrypted?: boolean | undefined;
  /** The result of a body parser. It is used only if the parser has read the bytes. */
  readonly parsedBody?: unknown;
  /** Finds the signed-in user of the request, see `findUser` of `GatewayRequest`. Default: every request needs a key. */
  readonly findUser?: GatewayRequest["findUser"];
}

/**
 * A request of `node:http` as the gateway reads it. Nothing is copied: the body is the request's own stream. A class, as the
 * others here: V8 may give object literals that outlive a few collections memory that only a full collection frees, and then
 * also keeps what they refer to.
 */
export class NodeRequest implements GatewayRequest {
  readonly method: string;
  readonly url: string;
  readonly mountPath: string | undefined;
  readonly isEncrypted: boolean;
  readonly headers: HeaderReader;
  readonly body: AsyncIterable<Uint8Array> | null;
  readonly parsedBody: unknown;
  readonly bodyConsumed: boolean;
  readonly signal: ClientSignal;
  readonly httpVersion: string;
  readonly findUser: GatewayRequest["findUser"];
  readonly #req: IncomingMessage;

  constructor(req: IncomingMessage, res: ServerResponse, host: HostRequest) {
    // A parser that did not read the bytes may still have set an empty body, as body-parser 1 does. The bytes of a stream
    // that flows already go to the code that made it flow.
    const isRead = req.readableDidRead || req.readableFlowing === true;
    this.method = req.method ?? "GET";
    this.url = host.url ?? req.url ?? "/";
    this.mountPath = host.mountPath;
    this.isEncrypted = host.isEncrypted ?? ("encrypted" in req.socket && req.socket.encrypted === true);
    this.headers = new NodeHeaders(req);
    // Leaving the body early must not destroy the socket, because the response is still to be written to it.
    this.body = isRead ? null : toChunks(req, (chunk) => markOwnChunk(req, chunk));
    this.parsedBody = isRead ? host.parsedBody : undefined;
    this.bodyConsumed = isRead;
    this.signal = new ResponseSignal(res);
    this.httpVersion = req.httpVersion;
    this.findUser = host.findUser;
    this.#req = req;
  }

  clientAddress(): string | undefined {
    return this.#req.socket.remoteAddress;
  }
}

class NodeHeaders implements HeaderReader {
  readonly #req: IncomingMessage;

  constructor(req: IncomingMessage) {
    this.#req = req;
  }

  get(name: string): string | null {
    const lower = name.toLowerCase();
    const value = (lower === "host" && readSeveralHosts(this.#req)) || this.#req.headers[lower];
    return typeof value === "object" ? value.join(", ") : (value ?? null);
  }

  keys(): Iterable<string> {
    return Object.keys(this.#req.headers);
  }
}

/**
 * All Host headers of a request that has several. Node keeps the first of them, and a proxy may have used the last: joined,
 * they are no valid host. Requests that a framework makes itself for tests have no `headersDistinct`.
 */
function readSeveralHosts(req: IncomingMessage): readonly string[] | undefined {
  const hosts = "headersDistinct" in req ? req.headersDistinct["host"] : undefined;
  return hosts !== undefined && hosts.length > 1 ? hosts : undefined;
}

class ResponseSignal implements ClientSignal {
  readonly #res: ServerResponse;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  /** True if the client left before its response was complete. */
  get aborted(): boolean {
    return this.#res.destroyed && !this.#res.writableFinished;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#res.on("close", listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    this.#res.off("close", listener);
  }
}

/**
 * The whole path of a request, and the path at which the framework mounted the gateway. Frameworks remove the mount
 * path from `url` and keep the whole path in `originalUrl`. Of `/ai?x=1`, mounted at `/ai`, they leave `/?x=1`. If a
 * middleware has rewritten `url`, the mount path is unknown.
 */
export function readMountPath(
  url: string,
  originalUrl: string | undefined,
): { readonly url: string; readonly mountPath: string | undefined } {
  // koa-mount also removes the slash, if its path ends in one.
  const below = url.startsWith("/") ? url : `/${url}`;
  if (originalUrl === undefined || originalUrl === below) return { url: below, mountPath: undefined };
  if (originalUrl.endsWith(below)) {
    return { url: originalUrl, mountPath: originalUrl.slice(0, -below.length) };
  }
  const query = below.slice(1);
  const isMountItself = (query === "" || query.startsWith("?")) && originalUrl.endsWith(query);
  return isMountItself
    ? { url: originalUrl, mountPath: originalUrl.slice(0, originalUrl.length - query.length) }
    : { url: below, mountPath: undefined };
}
