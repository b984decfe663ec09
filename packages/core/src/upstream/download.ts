import type { Timeouts } from "../channels/channel.js";
import { detectMediaType } from "../images/reference-image.js";
import { isPublicAddress, readLiteralAddress } from "./public-address.js";
import { readContentCoding } from "./read.js";
import type { Transport, TransportResponse } from "./transport.js";

/** The channel whose result links are fetched, and the addresses that the links may have besides public ones. */
export interface ResultSource {
  /** Plain http is allowed only for links of this origin. The options allow such a base URL on loopback or with `allowHttp`. */
  readonly baseUrl: string;
  /** Hosts that may have an address in a private network. */
  readonly resultHosts: readonly string[];
}

/** The link was refused, or there is no image behind it. The client may see the message. */
export class DownloadError extends Error {
  override readonly name = "DownloadError";
}

const MAX_IMAGE_BYTES = 64 * 1024 * 1024;
const MAX_DOWNLOAD_MS = 60_000;
const TIMEOUTS: Timeouts = { connectMs: 10_000, firstByteMs: 30_000, idleMs: 30_000 };

/**
 * Downloads the image behind a provider's result link, as {@link openImage}.
 *
 * @throws DownloadError
 */
export async function downloadImage(
  transport: Transport,
  link: string,
  source: ResultSource,
): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of await openImage(transport, link, source)) chunks.push(chunk);
  return chunks;
}

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
  let response: TransportResponse;
  try {
    response = await transport.download({
      url: url.href,
      timeouts: TIMEOUTS,
      publicOnly: !isTrusted(url, source),
    });
  } catch (cause) {
    throw new DownloadError("The image could not be downloaded.", { cause });
  }
  if (response.status !== 200) {
    response.cancel();
    throw new DownloadError(`The image's link responded with status ${response.status}.`);
  }
  const cancel = (): void => response.cancel();
  signal?.addEventListener("abort", cancel);
  if (signal?.aborted === true) cancel();
  const chunks = readWithin(response, () => signal?.removeEventListener("abort", cancel));
  const first = await chunks.next();
  return first.done === true ? chunks : withFirst(first.value, chunks);
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
  if (!isTrusted(url, source) && isPlainlyPrivate(url)) {
    throw new DownloadError("The image's link leads to an address that is not public.");
  }
  return url;
}

/** Checks what the URL itself shows. The addresses of a name are checked when the connection is made. */
function isPlainlyPrivate({ hostname }: URL): boolean {
  const literal = readLiteralAddress(hostname);
  return literal === undefined ? /(?:^|\.)localhost\.?$/.test(hostname) : !isPublicAddress(literal);
}

/** The emulator, for example, serves its links on the same origin as its API. */
function isOwnHttpOrigin(url: URL, { baseUrl }: ResultSource): boolean {
  return new URL(baseUrl).protocol === "http:" && url.origin === new URL(baseUrl).origin;
}

function isTrusted(url: URL, source: ResultSource): boolean {
  const isNamed = source.resultHosts.some((host) => host.toLowerCase() === url.hostname);
  return isNamed || isOwnHttpOrigin(url, source);
}

/**
 * @param onEnd called when nothing is read any more
 * @throws DownloadError
 */
async function* readWithin(
  response: TransportResponse,
  onEnd: () => void,
): AsyncGenerator<Uint8Array, undefined> {
  let length = 0;
  try {
    for await (const chunk of readInTime(response)) {
      if (length === 0) checkCoding(response, chunk);
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
async function* readInTime(response: TransportResponse): AsyncGenerator<Uint8Array, undefined> {
  const body = response.body[Symbol.asyncIterator]();
  let leftMs = MAX_DOWNLOAD_MS;
  try {
    while (true) {
      const startedAt = performance.now();
      const timer = setTimeout(() => response.cancel(), leftMs);
      const { done, value } = await body.next().finally(() => clearTimeout(timer));
      if (done === true) return;
      leftMs -= performance.now() - startedAt;
      yield value;
    }
  } finally {
    await body.return?.();
  }
}

/**
 * Compressed bytes are not an image. A `fetch` decompresses them and keeps the header, so the body may be an image in
 * spite of the header.
 */
function checkCoding({ headers }: TransportResponse, first: Uint8Array): void {
  const coding = readContentCoding(headers);
  if (coding === undefined || detectMediaType(first) !== undefined) return;
  throw new DownloadError(`The image has the content coding ${coding}, which was not requested.`);
}
