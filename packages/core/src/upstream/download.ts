import type { Timeouts } from "../channels/channel.js";
import { isOwnHttpOrigin, isTrusted, type ResultSource } from "../images/link-hosts.js";
import { detectMediaType } from "../images/reference-image.js";
import { isPlainlyPrivate } from "../util/public-address.js";
import { readContentCoding } from "./read.js";
import type { DownloadRequest, Transport, TransportResponse } from "./transport.js";

/** The link was refused, or there is no image behind it. The client may see the message. */
export class DownloadError extends Error {
  override readonly name = "DownloadError";
  /** The code of the image in `extra.errors`. */
  readonly code: string = "image_download_failed";
}

const MAX_IMAGE_BYTES = 64 * 1024 * 1024;
const MAX_DOWNLOAD_MS = 60_000;
const TIMEOUTS: Timeouts = { connectMs: 10_000, firstByteMs: 30_000, idleMs: 30_000 };

/**
 * Opens the image behind a provider's result link, and returns its chunks when the first one has arrived. The link comes
 * from outside. So it is fetched without a key, over https, from public addresses only, without following redirects, and
 * within limits of size and time.
 *
 * @param signal ends the download when it is aborted
 * @returns the chunks, to be read at most once. Reading them throws a DownloadError if the download breaks off.
 * @throws DownloadError
 */
export async function openImage(
  transport: Transport,
  link: string,
  source: ResultSource,
  signal?: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const url = checkLink(link, source);
  const request = { url: url.href, timeouts: TIMEOUTS, publicOnly: !isTrusted(url, source) };
  let response: TransportResponse;
  try {
    response = await transport.download(request);
  } catch (cause) {
    throw new DownloadError("The image could not be downloaded.", { cause });
  }
  if (response.status !== 200) {
    response.cancel();
    throw new DownloadError(`The image's link responded with status ${response.status}.`);
  }
  const download = new Download(transport, request, response);
  const cancel = (): void => download.cancel();
  signal?.addEventListener("abort", cancel);
  if (signal?.aborted === true) cancel();
  const chunks = readWithin(download, () => signal?.removeEventListener("abort", cancel));
  const first = await chunks.next();
  return first.done === true ? chunks : withFirst(first.value, chunks);
}

/** How often a download that breaks off is continued. */
const MAX_CONTINUATIONS = 2;

/**
 * The response to the request for an image. If it breaks off, the rest is requested, provided that the link states a version
 * of the image (a strong `ETag`) and has the same one still.
 */
class Download {
  readonly #transport: Transport;
  readonly #request: DownloadRequest;
  readonly #etag: string | undefined;
  #response: TransportResponse;
  #continuations = 0;
  #isCancelled = false;

  constructor(transport: Transport, request: DownloadRequest, response: TransportResponse) {
    this.#transport = transport;
    this.#request = request;
    this.#response = response;
    this.#etag = readStrongEtag(response);
  }

  get headers(): TransportResponse["headers"] {
    return this.#response.headers;
  }

  /** A pending read fails. */
  cancel(): void {
    this.#isCancelled = true;
    this.#response.cancel();
  }

  async *read(): AsyncGenerator<Uint8Array, undefined> {
    let length = 0;
    while (true) {
      try {
        for await (const chunk of this.#response.body) {
          length += chunk.length;
          yield chunk;
        }
        return;
      } catch (error) {
        this.#response = await this.#requestRest(length, error);
      }
    }
  }

  /** @throws `cause` if there is no rest to continue with */
  async #requestRest(start: number, cause: unknown): Promise<TransportResponse> {
    const etag = this.#etag;
    if (etag === undefined || this.#isCancelled || this.#continuations++ >= MAX_CONTINUATIONS) throw cause;
    const headers = { range: `bytes=${start}-`, "if-range": etag };
    const response = await this.#transport.download({ ...this.#request, headers });
    const isRest =
      response.status === 206 &&
      readStrongEtag(response) === etag &&
      response.headers.get("content-range")?.startsWith(`bytes ${start}-`) === true;
    if (isRest && !this.#isCancelled) return response;
    response.cancel();
    throw cause;
  }
}

/** `undefined` if there is none, or if the bytes that arrive may not be those that were sent. */
function readStrongEtag({ headers }: TransportResponse): string | undefined {
  const etag = headers.get("etag");
  return etag?.startsWith('"') === true && readContentCoding(headers) === undefined ? etag : undefined;
}

async function* withFirst(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

function checkLink(link: string, source: ResultSource): URL {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  const isSecure = url?.protocol === "https:" || (url?.protocol === "http:" && isOwnHttpOrigin(url, source));
  if (url === undefined || !isSecure) throw new DownloadError("The image's link is not an https link.");
  if (!isTrusted(url, source) && isPlainlyPrivate(url.hostname)) {
    throw new DownloadError("The image's link leads to an address that is not public.");
  }
  return url;
}

/**
 * @param onEnd called when nothing is read any more
 * @throws DownloadError
 */
async function* readWithin(download: Download, onEnd: () => void): AsyncGenerator<Uint8Array, undefined> {
  let length = 0;
  try {
    for await (const chunk of readInTime(download)) {
      if (length === 0) checkCoding(download, chunk);
      length += chunk.length;
      if (length > MAX_IMAGE_BYTES) {
        throw new DownloadError(`The image is larger than ${MAX_IMAGE_BYTES} bytes.`);
      }
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof DownloadError) throw cause;
    throw new DownloadError("The download of the image broke off.", { cause });
  } finally {
    onEnd();
  }
  if (length === 0) throw new DownloadError("The image's link gave nothing.");
}

/** Cancels a download that takes too long. The time in which a slow client makes the download wait does not count. */
async function* readInTime(download: Download): AsyncGenerator<Uint8Array, undefined> {
  const body = download.read();
  let leftMs = MAX_DOWNLOAD_MS;
  try {
    while (true) {
      const startedAt = performance.now();
      const timer = setTimeout(() => download.cancel(), leftMs);
      const { done, value } = await body.next().finally(() => clearTimeout(timer));
      if (done === true) return;
      leftMs -= performance.now() - startedAt;
      yield value;
    }
  } finally {
    await body.return(undefined);
  }
}

/**
 * Compressed bytes are not an image. A `fetch` decompresses them and keeps the header, so the body may be an image in
 * spite of the header.
 */
function checkCoding({ headers }: Download, first: Uint8Array): void {
  const coding = readContentCoding(headers);
  if (coding === undefined || detectMediaType(first) !== undefined) return;
  throw new DownloadError(`The image has the content coding ${coding}, which was not requested.`);
}
