import type { GatewayResponse } from "./exchange.js";

/** The gateway's response as a Web `Response`. */
export function toWebResponse(response: GatewayResponse, request: Request): Response {
  const { status, headers, body } = response;
  const isComplete = typeof body === "string" || body instanceof Uint8Array;
  return new Response(isComplete ? body : toStream(body, response.onIdle, request), { status, headers });
}

/**
 * A stream that asks for a chunk when it wants one. It is not of type `bytes`: such a stream takes the chunk's buffer
 * away. An aborted request ends it too: some hosts drop the response then, without reading or cancelling it. A host
 * that keeps the response and does not read it is ended by the gateway's time limit; the stream then fails.
 */
function toStream(
  body: AsyncIterable<Uint8Array>,
  onIdle: GatewayResponse["onIdle"],
  request: Request,
): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const leave = (): void => void chunks.return?.().catch(() => undefined);
  // The listener also holds the Request: its signal follows the client only as long as the Request is held.
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
