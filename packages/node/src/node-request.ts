import { type IncomingHttpHeaders, IncomingMessage, type ServerResponse } from "node:http";
import { type GatewayRequest, type HeaderReader, toChunks } from "@calotype/core";

/** What a framework knows of a request beyond the socket's. */
export interface HostRequest {
  /** The whole path, mount path included. Default: the path of the request line. */
  readonly url?: string;
  /**
   * The path at which the gateway is mounted, such as `/ai`: everything below it belongs to the gateway. `/`: every
   * path belongs to the gateway. If absent, the mount path is unknown, and the gateway takes only paths that are
   * certainly its own.
   */
  readonly mountPath?: string | undefined;
  /** What a body parser made of the body. Counts only when the bytes were really taken. */
  readonly parsedBody?: unknown;
}

/**
 * A socket's request in the shape the gateway reads. Nothing is copied: the body is the socket's
 * own stream, and whether the client left is seen on the response.
 */
export function toGatewayRequest(
  req: IncomingMessage,
  res: ServerResponse,
  host: HostRequest,
): GatewayRequest {
  // A parser that did not take the bytes may still have set an empty body (body-parser 1 does). A
  // stream that flows loses its bytes to whoever made it flow before the gateway comes to read them.
  const taken = req.readableDidRead || req.readableFlowing === true;
  return {
    method: req.method ?? "GET",
    url: host.url ?? req.url ?? "/",
    mountPath: host.mountPath,
    headers: new IncomingHeaders(req.headers),
    // Leaving the loop early must not destroy the socket: the refusal is still to be written to it.
    body: taken ? null : toChunks(req, { length: readLength(req) }),
    parsedBody: taken ? host.parsedBody : undefined,
    bodyConsumed: taken,
    signal: new ClientSignal(res),
  };
}

/**
 * How long the body is, where the request says so. What plays the part of a request may have another length, and may
 * find fault with the body only after its last byte, as one does that checks a digest.
 */
function readLength(req: IncomingMessage): number | undefined {
  const header = req.headers["content-length"];
  return header === undefined || !(req instanceof IncomingMessage) ? undefined : Number(header);
}

/** A class, as each request has one. */
class IncomingHeaders implements HeaderReader {
  readonly #headers: IncomingHttpHeaders;

  constructor(headers: IncomingHttpHeaders) {
    this.#headers = headers;
  }

  get(name: string): string | null {
    const value = this.#headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  }
}

/** Looked up where it is asked for: nothing listens, and nothing is to be taken down. */
class ClientSignal {
  readonly #res: ServerResponse;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  get aborted(): boolean {
    return this.#res.destroyed && !this.#res.writableFinished;
  }
}
