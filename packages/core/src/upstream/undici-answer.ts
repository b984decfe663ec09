import { channel } from "node:diagnostics_channel";
import type { Dispatcher } from "undici";
import { ChunkQueue } from "../bytes/chunk-queue.js";
import { freeChunk } from "../bytes/free-chunk.js";
import { TransportError, type TransportResponse } from "./transport.js";
import { isUnreachableCode } from "./unreachable.js";

/** Sends a request and gives the head of its answer. @throws TransportError */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
): Promise<TransportResponse> {
  const answer = new UndiciAnswer();
  dispatcher.dispatch(options, answer);
  return answer.head;
}

/**
 * An answer as undici's dispatcher tells it, chunk by chunk. `undici.request` makes a stream of it, which costs as much
 * as all the rest of a small answer.
 */
class UndiciAnswer extends ChunkQueue implements Dispatcher.DispatchHandler {
  readonly #head = Promise.withResolvers<TransportResponse>();
  #controller: Dispatcher.DispatchController | undefined;

  get head(): Promise<TransportResponse> {
    return this.#head.promise;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(
    { rawHeaders }: Dispatcher.DispatchController,
    status: number,
    headers: Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>[2],
  ): void {
    // The head of the answer itself is still to come.
    if (status < 200) return;
    this.#head.resolve({
      status,
      headers: { get: (name) => readHeader(headers[name.toLowerCase()]) },
      body: { [Symbol.asyncIterator]: () => this },
      // HTTP/2 has no raw headers, and its chunks may be all of what was read from the socket.
      freeChunk: Array.isArray(rawHeaders) ? freeUnshared : undefined,
      cancel: () => this.#abort(),
    });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.push(chunk);
  }

  onResponseEnd(): void {
    this.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, cause: unknown): void {
    const error = toTransportError(cause);
    this.#head.reject(error);
    this.fail(error);
  }

  protected override pause(): void {
    this.#controller?.pause();
  }

  protected override resume(): void {
    this.#controller?.resume();
  }

  protected override leave(): void {
    this.#abort();
  }

  /** Nothing happens where the answer has ended. */
  #abort(): void {
    this.#controller?.abort(new Error("The answer was given up."));
  }
}

const chunkReceived = channel("undici:request:bodyChunkReceived");

/** Tools that watch undici are given each chunk, too. */
function freeUnshared(chunk: Uint8Array): void {
  if (!chunkReceived.hasSubscribers) freeChunk(chunk);
}

function readHeader(value: string | string[] | undefined): string | null {
  return Array.isArray(value) ? value.join(", ") : (value ?? null);
}

const TIMED_OUT: ReadonlySet<unknown> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

function toTransportError(error: unknown): TransportError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (isUnreachableCode(code)) return new TransportError("unreachable", error);
  return new TransportError(TIMED_OUT.has(code) ? "timeout" : "broken", error);
}
