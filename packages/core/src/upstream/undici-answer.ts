import { channel } from "node:diagnostics_channel";
import { type Dispatcher, errors } from "undici";
import { ChunkQueue } from "../bytes/chunk-queue.js";
import { freeChunk } from "../bytes/free-chunk.js";
import type { HeaderReader } from "../http.js";
import type { Link } from "../util/linked-list.js";
import { HEARD, type StallWatch, type Watched } from "../util/stall-watch.js";
import { type Timeouts, TransportError, type TransportResponse } from "./transport.js";
import { isUnreachableCode } from "./unreachable.js";

/** How long an answer is waited for, and by whom it is then failed. */
export interface Patience {
  readonly watch: StallWatch;
  readonly timeouts: Timeouts;
}

/** Sends a request and gives the head of its answer. @throws TransportError */
export function exchange(
  dispatcher: Dispatcher,
  options: Dispatcher.DispatchOptions,
  patience: Patience,
): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    dispatcher.dispatch(options, new UndiciAnswer(patience, resolve, reject));
  });
}

/**
 * An answer as undici's dispatcher tells it, chunk by chunk. `undici.request` makes a stream of it, which costs as much
 * as all the rest of a small answer.
 */
class UndiciAnswer extends ChunkQueue implements Dispatcher.DispatchHandler, TransportResponse, Watched {
  /** Known, as what follows, once the head has come. */
  status = 0;
  headers: HeaderReader = NO_HEADERS;
  freeChunk: TransportResponse["freeChunk"];
  quietSince = HEARD;
  maxQuietMs: number;
  readonly #patience: Patience;
  #link: Link<Watched> | undefined;
  readonly #begin: (response: TransportResponse) => void;
  readonly #refuse: (error: TransportError) => void;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    patience: Patience,
    begin: (response: TransportResponse) => void,
    refuse: (error: TransportError) => void,
  ) {
    super();
    this.#patience = patience;
    this.maxQuietMs = patience.timeouts.firstByteMs;
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
    this.quietSince = HEARD;
    // Over HTTP/2 one that the provider did not take begins again.
    this.#link ??= this.#patience.watch.add(this);
  }

  /** A piece of the body: an upload that goes on is none that stalls. */
  onBodySent(): void {
    if (this.status === 0) this.quietSince = HEARD;
  }

  onRequestSent(): void {
    if (this.status === 0) this.quietSince = HEARD;
  }

  onResponseStart(
    { rawHeaders }: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHeaders,
  ): void {
    this.quietSince = HEARD;
    // The head of the answer itself is still to come.
    if (status < 200) return;
    this.status = status;
    this.maxQuietMs = this.#patience.timeouts.idleMs;
    this.headers = new UndiciHeaders(headers);
    // HTTP/2 has no raw headers, and its chunks may be all of what was read from the socket.
    this.freeChunk = Array.isArray(rawHeaders) ? freeUnshared : undefined;
    this.#begin(this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.quietSince = HEARD;
    this.push(chunk);
  }

  onResponseEnd(): void {
    this.#leaveWatch();
    this.end();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, cause: unknown): void {
    this.#leaveWatch();
    const error = toTransportError(cause);
    this.#refuse(error);
    this.fail(error);
  }

  timeOut(): void {
    const error = this.status === 0 ? new errors.HeadersTimeoutError() : new errors.BodyTimeoutError();
    this.#controller?.abort(error);
  }

  #leaveWatch(): void {
    if (this.#link !== undefined) this.#patience.watch.delete(this.#link);
    this.#link = undefined;
  }

  protected override pause(): void {
    // It is quiet because we are.
    this.maxQuietMs = 0;
    this.#controller?.pause();
  }

  protected override resume(): void {
    this.quietSince = HEARD;
    this.maxQuietMs = this.#patience.timeouts.idleMs;
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
