import { takeWhole } from "../bytes/chunk-queue.js";
import { GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";
import { BodyBytes } from "./body-bytes.js";

/**
 * All bytes of a request's body, at most `maxBytes`.
 *
 * @throws GatewayError `request_too_large`; `invalid_request_error` for a body shorter than its
 * `content-length` (a proxy that cuts says nothing); `client_closed_request` when the client left.
 */
export async function readBody(request: GatewayRequest, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const bytes = new BodyBytes(declared, request.freeChunk);
  const chunks = request.body?.[Symbol.asyncIterator]();
  // A host hands over what came with the head when the code that was given the head has ended.
  await Promise.resolve();
  const whole = takeWhole(chunks, maxBytes);
  if (whole === undefined) await readChunks(chunks, bytes, maxBytes);
  else for (const chunk of whole) bytes.add(chunk);
  if (bytes.length < declared) {
    throw invalidRequest(`The body was cut on its way: ${bytes.length} of ${declared} bytes arrived.`);
  }
  return bytes.take();
}

/** By hand: most bodies that do not come whole come in few chunks, and a loop costs more than a chunk. */
async function readChunks(
  chunks: AsyncIterator<Uint8Array> | undefined,
  bytes: BodyBytes,
  maxBytes: number,
): Promise<void> {
  try {
    for (let next = await chunks?.next(); next && next.done !== true; next = await chunks?.next()) {
      if (bytes.length + next.value.length <= maxBytes) bytes.add(next.value);
      else {
        await chunks?.return?.();
        throw tooLarge(maxBytes);
      }
    }
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw new GatewayError("client_closed_request", "The body ended before it was complete.", { cause });
  }
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("request_too_large", `The body is larger than ${maxBytes} bytes.`);
}
