import type { FindUser, GatewayRequest, GatewayResponse, MountOptions } from "../http.js";
import { IS_WORKERS } from "../options/options.js";
import { checkOptionNames } from "../util/option-names.js";

/** What a host of Web requests adds to a request. */
export interface WebHost
  extends Pick<
      GatewayRequest,
      "waitUntil" | "mountPath" | "clientAddress" | "httpVersion" | "encodesResponses"
    >,
    MountOptions<Request> {}

/** What responds to the requests of a host: a gateway, or a page that is mounted like one. */
export interface MountedHandler {
  /** Returns `null` for a path that is not its own. */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** Returns the 404 for such a path. */
  notFound(request: Pick<GatewayRequest, "method" | "url" | "headers">): GatewayResponse;
}

/**
 * For adapters: checks what was passed to them, so that a mistake is an error at startup and not at the first request. It reads
 * no property, because an app may pass a proxy that creates its gateway when it is first used.
 *
 * @param adapter the name of the function that was called
 * @throws TypeError if it is no object, or a promise
 */
export function checkMounted(mounted: unknown, adapter: string): void {
  const isObject = typeof mounted === "object" && mounted !== null;
  if (isObject && !("then" in mounted)) return;
  const value = mounted === null ? "null" : typeof mounted;
  const mistake = isObject ? "a promise: await it first" : value;
  throw new TypeError(
    `${adapter} needs the gateway that createGateway returned, or a studio. It got ${mistake}.`,
  );
}

/**
 * For adapters: checks the options with which a gateway is mounted.
 *
 * @param adapter the name of the function that was called
 * @returns the option `caller`
 * @throws TypeError for another option, or a `caller` that is no function
 */
export function readMountOptions<HostRequest>(
  options: MountOptions<HostRequest>,
  adapter: string,
): FindUser<HostRequest> | undefined {
  checkOptionNames<MountOptions<HostRequest>>(adapter, options, { caller: true });
  const { caller } = options;
  if (caller === undefined || typeof caller === "function") return caller;
  throw new TypeError(`The option caller of ${adapter} must be a function that returns a caller or null.`);
}

/** Creates the function that responds to Web requests. */
export function createFetch(
  handler: MountedHandler,
): (request: Request, host?: WebHost) => Promise<Response> {
  return async (request, host = {}) => {
    const gatewayRequest = new WebRequest(request, host);
    return toWebResponse(await (handler.handle(gatewayRequest) ?? handler.notFound(gatewayRequest)), request);
  };
}

/**
 * A Web `Request` in the shape that hosts of all kinds give. A class: an object literal with a getter would give each
 * request a hidden class of its own in V8.
 */
class WebRequest implements GatewayRequest {
  readonly method: string;
  readonly url: string;
  readonly mountPath: string;
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly encodesResponses: boolean;
  readonly httpVersion: string | undefined;
  readonly waitUntil: GatewayRequest["waitUntil"];
  readonly findUser: GatewayRequest["findUser"];
  readonly #host: WebHost;
  readonly #request: Request;

  constructor(request: Request, host: WebHost) {
    this.method = request.method;
    this.url = request.url;
    this.mountPath = host.mountPath ?? "/";
    this.headers = request.headers;
    this.body = request.body;
    this.httpVersion = host.httpVersion;
    this.encodesResponses = host.encodesResponses ?? IS_WORKERS;
    // Called as a method of `host`, because the context of a Worker rejects a call on another object.
    this.waitUntil = host.waitUntil && ((work) => host.waitUntil?.(work));
    this.findUser = host.caller && (() => host.caller?.(request));
    this.#request = request;
    this.#host = host;
  }

  /** Read from the Request when it is needed, because `caller` of the host gets the Request too. */
  get bodyConsumed(): boolean {
    return this.#request.bodyUsed;
  }

  clientAddress(): string | undefined {
    return this.#host.clientAddress?.();
  }

  /** Read from the Request each time, because a signal follows the client only while its Request is referenced. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }
}

/** Converts the gateway's response to a Web `Response`. */
function toWebResponse(response: GatewayResponse, request: Request): Response {
  const { status, headers, body } = response;
  if (request.method === "HEAD" || status === 204 || status === 304)
    return new Response(null, { status, headers });
  const isComplete = typeof body === "string" || body instanceof Uint8Array;
  return new Response(isComplete ? body : toStream(body, response.onIdle, request), { status, headers });
}

/**
 * A stream that reads a chunk when its consumer wants one. It is not of type `bytes`, because such a stream detaches
 * the chunk's buffer. An aborted request also ends it: some hosts then drop the response without reading or
 * cancelling it. If a host keeps the response and does not read it, the gateway's time limit ends it, and the stream
 * fails.
 */
function toStream(
  body: AsyncIterable<Uint8Array>,
  onIdle: GatewayResponse["onIdle"],
  request: Request,
): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const leave = (): void => void chunks.return?.().catch(() => undefined);
  // The listener keeps a reference to the Request: its signal follows the client only while the Request is
  // referenced.
  const forgetRequest = (): void => request.signal.removeEventListener("abort", leave);
  if (request.signal.aborted) leave();
  else request.signal.addEventListener("abort", leave, { once: true });
  return new ReadableStream({
    start(controller) {
      onIdle?.((error) => {
        forgetRequest();
        controller.error(error);
        return false;
      });
    },
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done !== true) return controller.enqueue(value);
      forgetRequest();
      controller.close();
    },
    async cancel() {
      forgetRequest();
      await chunks.return?.();
    },
  });
}
