import { GatewayError, invalidRequest, isGatewayError } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";

/**
 * All bytes of a request's body, at most `maxBytes`.
 *
 * @throws GatewayError `request_too_large`; `invalid_request_error` for a body shorter than its
 * `content-length` (a proxy that cuts says nothing); `client_closed_request` when the client left.
 */
export async function readBody(request: GatewayRequest, maxBytes: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const bytes = request.body === null ? new Uint8Array() : await collect(request.body, maxBytes);
  if (bytes.length < declared) {
    throw invalidRequest(`The body was cut on its way: ${bytes.length} of ${declared} bytes arrived.`);
  }
  return bytes;
}

async function collect(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(maxBytes);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw new GatewayError("client_closed_request", "The body ended before it was complete.", { cause });
  }
  return concat(chunks, length);
}

/** One array of all chunks; no copy where there is only one. */
function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first;
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("request_too_large", `The body is larger than ${maxBytes} bytes.`);
}
