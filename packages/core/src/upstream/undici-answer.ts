import { channel } from "node:diagnostics_channel";
import type { Dispatcher } from "undici";
import { ChunkQueue } from "../bytes/chunk-queue.js";
import { freeChunk } from "../bytes/free-chunk.js";
import type { HeaderReader } from "../exchange.js";
import { TransportError, type TransportResponse } from "./transport.js";
import { isUnreachableCode } from "./unreachable.js";

/** Sends a request and gives the head of its answer. @throws TransportError */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new UndiciAnswer(resolve, reject));
  });
}

/**
 * An answer as undici's dispatcher tells it, chunk by chunk. `undici.request` makes a stream of it, which costs as much
 * as all the rest of a small answer.
 */
class UndiciAnswer extends ChunkQueue implements Dispatcher.DispatchHandler, TransportResponse {
  /** Known, as what follows, once the head has come. */
  status = 0;
  headers: HeaderReader = NO_HEADERS;
  freeChunk: TransportResponse["freeChunk"];
  readonly #begin: (response: TransportResponse) => void;
  readonly #refuse: (error: TransportError) => void;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(begin: (response: TransportResponse) => void, refuse: (error: TransportError) => void) {
    super();
    this.#begin = begin;
    this.#refuse = refuse;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this;
  }

  /** Nothing happens where the answer has ended. */
  cancel(): void {
    this.#controller?.abort(new Error("The answer was given up."));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    { rawHeaders }: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHeaders,
  ): void {
    // The head of the answer itself is still to come.
    if (status < 200) return;
    this.status = status;
    this.headers = new UndiciHeaders(headers);
    // HTTP/2 has no raw headers, and its chunks may be all of what was read from the socket.
    this.freeChunk = Array.isArray(rawHeaders) ? freeUnshared : undefined;
    this.#begin(this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.push(chunk);
  }

  onResponseEnd(): void {
    this.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, cause: unknown): void {
    const error = toTransportError(cause);
    this.#refuse(error);
    this.fail(error);
  }

  protected override pause(): void {
    this.#controller?.pause();
  }

  protected override resume(): void {
    this.#controller?.resume();
  }

  protected override leave(): void {
    this.cancel();
  }
}

const NO_HEADERS: HeaderReader = { get: () => null };

type IncomingHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2];

class UndiciHeaders implements HeaderReader {
  readonly #headers: IncomingHeaders;

  constructor(headers: IncomingHeaders) {
    this.#headers = headers;
  }

  get(name: string): string | null {
    const value = this.#headers[name.toLowerCase()];
    return Array.isArray(value) ? value.join(", ") : (value ?? null);
  }
}

const chunkReceived = channel("undici:request:bodyChunkReceived");

/** Tools that watch undici are given each chunk, too. */
function freeUnshared(chunk: Uint8Array): void {
  if (!chunkReceived.hasSubscribers) freeChunk(chunk);
}

const TIMED_OUT: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

function toTransportError(error: unknown): TransportError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (isUnreachableCode(code)) return new TransportError("unreachable", error);
  return new TransportError(TIMED_OUT.has(code) ? "timeout" : "broken", error);
}
