import type { GatewayResponse } from "./exchange.js";

/** The gateway's response as a Web `Response`. */
export function toWebResponse(response: GatewayResponse, request: Request): Response {
  const { status, headers, body } = response;
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
