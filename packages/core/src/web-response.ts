import type { GatewayResponse, GatewayResponseBody } from "./exchange.js";

/** The gateway's answer to a request as a Web `Response`. */
export function toWebResponse({ status, headers, body }: GatewayResponse, request: Request): Response {
  return new Response(toBody(body, request), { status, headers });
}

function toBody(
  body: GatewayResponseBody,
  request: Request,
): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  return typeof body === "string" || body instanceof Uint8Array ? body : toStream(body, request);
}

/**
 * A stream that asks for a chunk when it wants one. Not of type `bytes`: that one takes the chunk's buffer away.
 * A client that left ends it too: some hosts drop the answer then, with nothing read and nothing cancelled.
 */
function toStream(body: AsyncIterable<Uint8Array>, request: Request): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const leave = (): void => void chunks.return?.().catch(() => undefined);
  if (request.signal.aborted) leave();
  else request.signal.addEventListener("abort", leave, { once: true });
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done !== true) return controller.enqueue(value);
      // Holds the Request until here, too: its signal follows the client only as long as it is held.
      request.signal.removeEventListener("abort", leave);
      controller.close();
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}
