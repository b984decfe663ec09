import { type SecretMask, toPlainError } from "../redact.js";
import { callStore } from "../util/async.js";
import { openFlow, StagedFlow } from "../util/chunk-flow.js";
import type { ByteMask } from "./mask-bytes.js";
import { type Transport, TransportError, type TransportResponse } from "./transport.js";

/** The masks for strings and for bytes. */
export interface TransportMasks {
  readonly maskKeys: SecretMask;
  readonly bytes: ByteMask;
}

/**
 * Wraps a transport so that its responses contain no secret. Everything that a provider sends is masked here before
 * it is parsed, relayed, recorded or logged: headers, bodies of every status, and connection errors, which may come
 * from an operator's own `fetch` and quote the request. Downloads of result links are not masked, because no key is
 * sent with them.
 */
export function maskTransport(transport: Transport, masks: TransportMasks): Transport {
  return {
    send: (request) =>
      callStore(() => transport.send(request)).then(
        (response) => maskResponse(response, masks),
        (error: unknown) => Promise.reject(toMaskedError(error, masks)),
      ),
    download: (request) => transport.download(request),
    close: () => transport.close(),
    ...(transport.abort !== undefined && { abort: async () => transport.abort?.() }),
  };
}

function maskResponse(response: TransportResponse, masks: TransportMasks): TransportResponse {
  const { status, headers, body } = response;
  return {
    status,
    headers: {
      get(name) {
        const value = headers.get(name);
        return value === null ? null : masks.maskKeys(value);
      },
    },
    body: new StagedFlow(openFlow(body), masks.bytes.open(), (error) => toMaskedError(error, masks)),
    cancel: () => response.cancel(),
  };
}

/**
 * Everything that a transport throws is treated as a failed connection. Only messages, codes and causes are kept,
 * with secrets masked.
 */
function toMaskedError(thrown: unknown, { maskKeys }: TransportMasks): TransportError {
  const isOurs = thrown instanceof TransportError;
  const cause = isOurs ? thrown.cause : thrown;
  return new TransportError(
    isOurs ? thrown.reason : "broken",
    cause === undefined ? undefined : toPlainError(cause, maskKeys),
  );
}
