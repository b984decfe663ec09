import type { GatewayRequest, GatewayResponse } from "./http.js";

/**
 * A Web `Request` in the shape that hosts of all kinds give. A class: an object literal with a getter would give each
 * request a hidden class of its own in V8.
 */
export class WebRequest implements GatewayRequest {
  readonly method: string;
  readonly url: string;
  readonly mountPath: string;
  readonly headers: Headers;
  readonly body: ReadableStream<Uint8Array> | null;
  readonly bodyConsumed: boolean;
  readonly waitUntil: GatewayRequest["waitUntil"];
  readonly #request: Request;

  constructor(request: Request, host: Pick<GatewayRequest, "waitUntil" | "mountPath">) {
    this.method = request.method;
    this.url = request.url;
    this.mountPath = host.mountPath ?? "/";
    this.headers = request.headers;
    this.body = request.body;
    this.bodyConsumed = request.bodyUsed;
    // Called as a method of `host`, because the context of a Worker rejects a call on another object.
    this.waitUntil = host.waitUntil && ((work) => host.waitUntil?.(work));
    this.#request = request;
  }

  /** Read from the Request each time, because a signal follows the client only while its Request is referenced. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }
}

/** Converts the gateway's response to a Web `Response`. */
export function toWebResponse(response: GatewayResponse, request: Request): Response {
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
