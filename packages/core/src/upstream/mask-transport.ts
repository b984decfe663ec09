import { type SecretMask, toPlainError } from "../redact.js";
import type { BodyMask, ByteMask } from "./mask-bytes.js";
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
    async send(request) {
      try {
        return maskResponse(await transport.send(request), masks);
      } catch (error) {
        throw toMaskedError(error, masks);
      }
    },
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
    body: new MaskedBody(body, masks),
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

type Chunk = IteratorResult<Uint8Array, undefined>;

const DONE: Chunk = { done: true, value: undefined };

/** A class and not a closure, because each request has one. It can be read once. */
class MaskedBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #body: AsyncIterable<Uint8Array>;
  readonly #masks: TransportMasks;
  readonly #mask: BodyMask;
  #chunks: AsyncIterator<Uint8Array> | undefined;
  /** Chunks that are masked and not read yet. */
  #ready: Uint8Array[] = [];
  #isOver = false;

  constructor(body: AsyncIterable<Uint8Array>, masks: TransportMasks) {
    this.#body = body;
    this.#masks = masks;
    this.#mask = masks.bytes.open();
  }

  [Symbol.asyncIterator](): this {
    this.#chunks ??= this.#body[Symbol.asyncIterator]();
    return this;
  }

  next(): Promise<Chunk> {
    if (this.#ready.length > 0 || this.#isOver) return Promise.resolve(this.#take());
    this.#chunks ??= this.#body[Symbol.asyncIterator]();
    return this.#chunks.next().then(this.#receive, this.#fail);
  }

  async return(): Promise<Chunk> {
    this.#isOver = true;
    this.#ready = [];
    this.#chunks ??= this.#body[Symbol.asyncIterator]();
    try {
      await this.#chunks.return?.();
    } catch (error) {
      throw toMaskedError(error, this.#masks);
    }
    return DONE;
  }

  readonly #receive = ({ done, value }: IteratorResult<Uint8Array, unknown>): Chunk | Promise<Chunk> => {
    if (done !== true) {
      this.#ready.push(...this.#mask.push(value));
    } else if (!this.#isOver) {
      this.#isOver = true;
      this.#ready.push(...this.#mask.end());
    }
    // A whole chunk may be held back, so more chunks may be needed.
    return this.#ready.length > 0 || this.#isOver ? this.#take() : this.next();
  };

  #take(): Chunk {
    const value = this.#ready.shift();
    return value === undefined ? DONE : { done: false, value };
  }

  readonly #fail = (error: unknown): never => {
    this.#isOver = true;
    throw toMaskedError(error, this.#masks);
  };
}
