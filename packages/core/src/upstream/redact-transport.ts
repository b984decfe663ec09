import { KeyError } from "../contract/key-source.js";
import { type Redaction, toPlainError } from "../redact.js";
import { callStore } from "../util/async.js";
import { openFlow, StagedFlow } from "../util/chunk-flow.js";
import type { ByteRedaction } from "./redact-bytes.js";
import { type Transport, TransportError, type TransportResponse } from "./transport.js";

/** The redactions for strings and for bytes. */
export interface TransportRedactions {
  readonly redactKeys: Redaction;
  readonly bytes: ByteRedaction;
}

/**
 * Wraps a transport so that its responses contain no secret. Everything that a provider sends is redacted here before
 * it is parsed, relayed, recorded or logged: headers, bodies of every status, and connection errors, which may come
 * from an operator's own `fetch` and quote the request. Downloads of result links are not redacted, because no key is
 * sent with them.
 */
export function redactTransport(transport: Transport, redactions: TransportRedactions): Transport {
  return {
    send: (request) =>
      callStore(() => transport.send(request)).then(
        (response) => redactResponse(response, redactions),
        (error: unknown) => Promise.reject(toRedactedError(error, redactions)),
      ),
    download: (request) => transport.download(request),
    close: () => transport.close(),
    ...(transport.abort !== undefined && { abort: async () => transport.abort?.() }),
  };
}

function redactResponse(response: TransportResponse, redactions: TransportRedactions): TransportResponse {
  const { status, headers, body } = response;
  return {
    status,
    headers: {
      get(name) {
        const value = headers.get(name);
        return value === null ? null : redactions.redactKeys(value);
      },
    },
    body: new StagedFlow(openFlow(body), redactions.bytes.open(), (error) =>
      toRedactedError(error, redactions),
    ),
    cancel: () => response.cancel(),
  };
}

/**
 * Everything that a transport throws is treated as a failed connection. Only messages, codes and causes are kept,
 * with secrets redacted.
 */
function toRedactedError(thrown: unknown, { redactKeys }: TransportRedactions): TransportError | KeyError {
  const isOfKey = thrown instanceof KeyError;
  const isOurs = thrown instanceof TransportError;
  const cause = isOurs || isOfKey ? thrown.cause : thrown;
  const redacted = cause === undefined ? undefined : toPlainError(cause, redactKeys);
  if (isOfKey) return new KeyError(thrown.message, { cause: redacted });
  return new TransportError(isOurs ? thrown.reason : "broken", redacted);
}
