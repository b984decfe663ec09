import { Buffer } from "node:buffer";
import type { Caller } from "@calotype/core";
import type { GatewayRequest, GatewayResponse, HeaderReader } from "@calotype/core/adapter";
import type { Configured, RouteHost } from "@calotype/core/compose";
import * as z from "zod";

/** A request to the gateway's own interface. */
export interface GatewayCall {
  readonly method: "GET" | "POST";
  /** From `/v1/…`, with its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The body, as JSON. */
  readonly fields?: object | undefined;
}

/** The gateway's response, with its whole body. */
export interface CompleteResponse extends Pick<GatewayResponse, "status" | "headers"> {
  readonly bytes: Uint8Array;
}

/** A JSON object of the gateway. */
export type Json = Readonly<Record<string, unknown>>;

/** What a {@link CallerGateway} needs. */
export interface CallerGatewayParts {
  readonly host: Pick<RouteHost<Configured>, "handle" | "notFound">;
  readonly configured: Configured;
  /** The MCP request. Its body has been read. */
  readonly request: GatewayRequest;
  /** Who has sent it. */
  readonly caller: Caller;
}

/** The gateway, as the caller of an MCP request uses it: through the paths and rules that every other client has. */
export class CallerGateway {
  /** Whether a repeated request with an idempotency key is recognized. */
  readonly hasIdempotency: boolean;
  /** Whether requests can become tasks. */
  readonly hasTasks: boolean;
  /** The largest body of a request, in bytes. */
  readonly maxBodyBytes: number;
  readonly #parts: CallerGatewayParts;
  /** The path before `/v1/…`. */
  readonly #base: string;

  constructor(parts: CallerGatewayParts) {
    const { configured, request } = parts;
    this.hasIdempotency = configured.admission !== undefined;
    this.hasTasks = configured.submissions !== undefined;
    this.maxBodyBytes = configured.bodyLimits.json;
    this.#parts = parts;
    this.#base = request.url.replace(/[?#].*$/s, "").replace(/(?<!\/)\/+mcp\/*$/, "");
  }

  /** Does not reject: a refusal is a response too. */
  async send(call: GatewayCall): Promise<CompleteResponse> {
    const { host } = this.#parts;
    const request = this.#toRequest(call);
    const { status, headers, body } = await (host.handle(request) ?? host.notFound(request));
    try {
      return { status, headers, bytes: await readBody(body) };
    } catch {
      // A long response begins before all of it has come. The gateway has logged why it broke off.
      return { status: 502, headers, bytes: BROKEN_OFF };
    }
  }

  /** Reads an image that this gateway has stored and serves. `undefined` for any other link. */
  async openStoredImage(url: string): Promise<string | undefined> {
    const endpoint = { operation: "edit", path: "/v1/images/edits" } as const;
    const request = this.#toRequest({ method: "POST", path: endpoint.path });
    const linkBase = this.#parts.configured.images?.findLinkBase(request, endpoint);
    if (!linkBase || !url.startsWith(`${linkBase}/v1/images/files/`)) return undefined;
    const { status, headers, bytes } = await this.send({ method: "GET", path: url.slice(linkBase.length) });
    if (status !== 200) return undefined;
    return `data:${headers["content-type"]};base64,${Buffer.from(bytes).toString("base64")}`;
  }

  #toRequest({ method, path, headers = {}, fields }: GatewayCall): GatewayRequest {
    const { request, caller } = this.#parts;
    const { mountPath, isEncrypted, signal, waitUntil } = request;
    return {
      method,
      url: this.#base + path,
      mountPath,
      isEncrypted,
      headers: replaceHeaders(request.headers, headers),
      body: null,
      parsedBody: fields && new TextEncoder().encode(JSON.stringify(fields)),
      signal,
      // The body is read here, so it must not be compressed.
      encodesResponses: true,
      caller,
      waitUntil,
    };
  }
}

const BROKEN_OFF = new TextEncoder().encode(
  JSON.stringify({
    error: {
      message:
        "The response broke off. Images may have been made and charged; the request_id finds the usage record.",
      type: "upstream_error",
      code: "upstream_invalid_response",
      param: null,
    },
  }),
);

/** Headers that describe the MCP message, and not the request that is made of it. */
const REPLACED = [
  "accept-encoding",
  "content-encoding",
  "content-length",
  "expect",
  "idempotency-key",
  "if-none-match",
  "origin",
  "prefer",
  "range",
  "transfer-encoding",
];

/** The other headers stay, such as `host` for links, `x-calotype-tags`, `x-calotype-webhook` and `traceparent`. */
function replaceHeaders(headers: HeaderReader, own: Readonly<Record<string, string>>): HeaderReader {
  const replaced = new Map<string, string | null>([
    ...REPLACED.map((name) => [name, null] as const),
    ["content-type", "application/json"],
    ...Object.entries(own),
  ]);
  return {
    get(name) {
      const value = replaced.get(name.toLowerCase());
      return value === undefined ? headers.get(name) : value;
    },
  };
}

async function readBody(body: GatewayResponse["body"]): Promise<Uint8Array> {
  if (typeof body === "string") return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const objectSchema = z.record(z.string(), z.unknown());

/** Parses the body of a response. All responses of the gateway but images are JSON objects. */
export function parseResponse({ bytes }: Pick<CompleteResponse, "bytes">): Json {
  return objectSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
}
