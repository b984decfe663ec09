// oxlint-disable-next-line import/no-unassigned-import -- It checks the version of Node, and must come first.
import "#node-version";
import { lookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { Agent, buildConnector, type Dispatcher } from "undici";
import type { Timeouts } from "../channels/channel.js";
import type { HeaderReader } from "../http.js";
import { lendChunks } from "../images/lend-chunks.js";
import type { ProducedBody } from "../images/produced-body.js";
import { remember } from "../models/resolve-model.js";
import { ChunkQueue, type ChunkSource } from "../util/chunk-queue.js";
import { isPublicAddress } from "../util/public-address.js";
import { watchHttp1Sockets } from "./http1-sockets.js";
import {
  isUnreachableCode,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "./transport.js";

/**
 * How many bytes a socket may hold before undici waits for it. A produced body may overwrite a chunk when the next one
 * is requested, and undici requests the next one when the socket has accepted all bytes. Chunks of base64 have 96 KiB.
 */
const SOCKET_BYTES = 64 * 1024;

/** The transport of Node: undici, with one agent for each connect timeout. */
export function createTransport(): Transport {
  // `BuildOptions` does not contain the options of sockets, but all of them are passed on.
  const forProviders = createAgents((timeout) => {
    const options = { timeout, highWaterMark: SOCKET_BYTES };
    return options;
  });
  const forPublicHosts = createAgents((timeout) => ({ timeout, lookup: lookupPublic }));
  let closed: Promise<unknown> | undefined;
  return {
    send({ method = "POST", url, headers, body, timeouts, publicOnly = false }) {
      const agents = publicOnly ? forPublicHosts : forProviders;
      return exchange(agents.get(timeouts.connectMs), {
        ...toOptions(method, url, timeouts),
        ...toBody(body, headers),
      });
    },
    download({ url, publicOnly, timeouts, headers = {} }) {
      const agents = publicOnly ? forPublicHosts : forProviders;
      return exchange(agents.get(timeouts.connectMs), { ...toOptions("GET", url, timeouts), headers });
    },
    async close() {
      closed ??= Promise.all([forProviders.close(), forPublicHosts.close()]);
      await closed;
    },
    async abort() {
      await Promise.all([forProviders.destroy(), forPublicHosts.destroy()]);
    },
  };
}

function toOptions(
  method: NonNullable<TransportRequest["method"]>,
  url: string,
  { firstByteMs, idleMs }: Timeouts,
) {
  const { origin, path } = splitUrl(url);
  return {
    method,
    origin,
    path,
    headersTimeout: firstByteMs,
    bodyTimeout: idleMs,
  } as const;
}

/** Nearly all calls go to one of a few URLs. */
const splitUrl = remember((url: string) => {
  const { origin, pathname, search } = new URL(url);
  return { origin, path: pathname + search };
});

function toBody(
  body: TransportRequest["body"],
  headers: TransportRequest["headers"],
): Pick<Dispatcher.DispatchOptions, "body" | "headers"> {
  if (body === undefined) return { headers };
  if (typeof body === "string") return { headers, body };
  return { headers: { ...headers, "content-length": `${body.byteLength}` }, body: toUndiciBody(body) };
}

/** Sends a request and returns the head of the response. @throws TransportError */
function exchange(dispatcher: Dispatcher, options: Dispatcher.DispatchOptions): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new ResponseHandler(resolve, reject));
  });
}

/**
 * Handles the events of undici's dispatcher. The simple version is `undici.request`, which makes a Node stream of the body:
 * a stream of small events then takes a tenth more CPU time, and a small response half as much again. A class, because
 * thousands of streams may be open.
 */
class ResponseHandler implements Dispatcher.DispatchHandler, ChunkSource {
  readonly #body = new ChunkQueue(this);
  readonly #resolve: (response: TransportResponse) => void;
  readonly #reject: (error: TransportError) => void;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(resolve: (response: TransportResponse) => void, reject: (error: TransportError) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHeaders): void {
    const isInterim = status < 200;
    if (isInterim) return;
    this.#resolve({ status, headers: toHeaderReader(headers), body: this.#body, cancel: () => this.leave() });
  }

  onResponseData(_controller: unknown, chunk: Uint8Array): void {
    this.#body.push(chunk);
  }

  onResponseEnd(): void {
    this.#body.end();
  }

  onResponseError(_controller: unknown, cause: unknown): void {
    const error = toTransportError(cause);
    this.#reject(error);
    this.#body.fail(error);
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  leave(): void {
    this.#controller?.abort(new Error("The response was cancelled."));
  }
}

type IncomingHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2];

function toHeaderReader(headers: IncomingHeaders): HeaderReader {
  return {
    get(name) {
      const value = headers[name.toLowerCase()];
      return Array.isArray(value) ? value.join(", ") : (value ?? null);
    },
  };
}

function toUndiciBody(body: ProducedBody): NonNullable<Dispatcher.DispatchOptions["body"]> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- undici accepts any iterable; its types do not say so.
  return lendChunks(body) as unknown as string;
}

const TIMED_OUT: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

function toTransportError(error: unknown): TransportError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (isUnreachableCode(code)) return new TransportError("unreachable", error);
  return new TransportError(TIMED_OUT.has(code) ? "timeout" : "broken", error);
}

interface Agents {
  get(connectMs: number): Agent;
  close(): Promise<unknown>;
  destroy(): Promise<unknown>;
}

function createAgents(createOptions: (connectMs: number) => buildConnector.BuildOptions): Agents {
  const agents = new Map<number, Agent>();
  return {
    get(connectMs) {
      let agent = agents.get(connectMs);
      if (agent === undefined) {
        agent = new Agent({ connect: watchHttp1Sockets(buildConnector(createOptions(connectMs))) });
        agents.set(connectMs, agent);
      }
      return agent;
    },
    close: () => Promise.all([...agents.values()].map((agent) => agent.close())),
    destroy: () => Promise.all([...agents.values()].map((agent) => agent.destroy())),
  };
}

/**
 * Resolves a name, and fails if any of its addresses is not public. It runs when the connection is made, so a name cannot
 * show one address to a check and another to the connection.
 */
export const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, []);
    const isHidden = addresses.some(({ address }) => !isPublicAddress(address));
    if (isHidden) return callback(new Error(`${hostname} has an address that is not public.`), []);
    const [first] = addresses;
    if (options.all === true || first === undefined) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
