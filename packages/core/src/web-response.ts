import type { GatewayResponse, GatewayResponseBody } from "./exchange.js";

/** The gateway's answer as a Web `Response`. */
export function toWebResponse({ status, headers, body }: GatewayResponse): Response {
  return new Response(toBody(body), { status, headers });
}

function toBody(body: GatewayResponseBody): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  return typeof body === "string" || body instanceof Uint8Array ? body : toStream(body);
}

/** A stream that asks for a chunk when it wants one. Not of type `bytes`: that one takes the chunk's buffer away. */
function toStream(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}
