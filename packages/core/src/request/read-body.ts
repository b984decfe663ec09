import { GatewayError, invalidRequest } from "../errors.js";
import type { GatewayRequest } from "../exchange.js";
import { BodyBytes } from "./body-bytes.js";
import { type BodyGuard, type IncomingBody, openBody } from "./incoming-body.js";

/**
 * All bytes of a request's body, at most `maxBytes`.
 *
 * @throws GatewayError `request_too_large`; `invalid_request_error` for a body shorter than its
 * `content-length`, which a proxy may have cut; and what {@link IncomingBody.next} throws
 */
export async function readBody(
  request: GatewayRequest,
  maxBytes: number,
  guard?: BodyGuard,
): Promise<Uint8Array> {
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const body = openBody(request, guard);
  const bytes = new BodyBytes(declared);
  try {
    // A host passes on the bytes that arrived with the head only after the code that got the head has returned.
    await Promise.resolve();
    const whole = body.takeWhole(maxBytes);
    if (whole === undefined) await readChunks(body, bytes, maxBytes);
    else for (const chunk of whole) bytes.add(chunk);
  } finally {
    body.cancel();
  }
  if (bytes.length < declared) {
    throw invalidRequest(`The body was cut on its way: ${bytes.length} of ${declared} bytes arrived.`);
  }
  return bytes.take();
}

async function readChunks(body: IncomingBody, bytes: BodyBytes, maxBytes: number): Promise<void> {
  for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) {
    if (bytes.length + chunk.length > maxBytes) throw tooLarge(maxBytes);
    bytes.add(chunk);
  }
}

function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError("request_too_large", `The body is larger than ${maxBytes} bytes.`);
}
