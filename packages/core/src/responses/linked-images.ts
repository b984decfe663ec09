import { Buffer } from "node:buffer";
import type { ResultError, ResultImage } from "../types.js";
import { DownloadError, downloadImage, openImage, type ResultSource } from "../upstream/download.js";
import type { Transport } from "../upstream/transport.js";
import type { ByteCount } from "../util/held-bytes.js";
import { Base64Encoder } from "./base64-encoder.js";
import { type OpenAiEvents, writeImage, writeMembers, writeMissingFormat } from "./openai-events.js";
import { isLink, type LinkedImage } from "./rewrite.js";

/** What downloads need. */
export interface DownloadParts {
  readonly transport: Transport;
  /** Counts the images that are held. */
  readonly bytes: ByteCount;
}

/** Downloads images that are links, and leaves the others as they are. */
export async function fetchImages(
  images: readonly LinkedImage[],
  source: ResultSource,
  parts: DownloadParts,
): Promise<readonly FetchedImage[]> {
  const outcomes: FetchedImage[] = [];
  for (let start = 0; start < images.length; start += MAX_DOWNLOADS_AT_ONCE) {
    const group = images.slice(start, start + MAX_DOWNLOADS_AT_ONCE);
    outcomes.push(...(await Promise.all(group.map((image) => fetchImage(image, source, parts)))));
  }
  return outcomes;
}

/** At most this many links of one response are downloaded; further images stay links. Layers may have more images. */
const MAX_IMAGES = 15;
/** Each has up to 64 MiB. */
const MAX_DOWNLOADS_AT_ONCE = 4;

/** An image with its base64, or a link with the reason why it was not converted. */
export interface FetchedImage {
  readonly image: ResultImage;
  readonly error?: ResultError;
}

async function fetchImage(
  { image, index }: LinkedImage,
  source: ResultSource,
  { transport, bytes }: DownloadParts,
): Promise<FetchedImage> {
  const { url, ...rest } = image;
  if (url === undefined || !isLink(image)) return { image };
  try {
    checkIndex(index);
    const b64_json = Buffer.concat(await downloadImage(transport, url, source)).toString("base64");
    bytes.addAnyway(b64_json.length);
    return { image: { ...rest, b64_json } };
  } catch (error) {
    return { image, error: toLinkError(error, index) };
  }
}

/** What {@link streamImage} needs. */
export interface StreamedDownload {
  readonly transport: Transport;
  /** The image's event is written here. */
  readonly events: OpenAiEvents | undefined;
  /** Gets the reason why the image stays a link. */
  readonly errors: ResultError[];
  /** Aborted when the client has disconnected. The download then ends. */
  readonly signal: AbortSignal;
}

/**
 * Downloads an image and returns the members of its event, with its base64 in parts. If the download cannot begin, the
 * image stays a link, and the reason is added to `errors`. If it breaks off, this throws, because a part of the image has
 * been sent.
 *
 * @throws DownloadError
 */
export async function* streamImage(
  { image, index }: LinkedImage,
  source: ResultSource,
  { transport, events, errors, signal }: StreamedDownload,
): AsyncGenerator<string> {
  if (signal.aborted) return;
  const { url = "", ...rest } = image;
  let chunks: AsyncIterable<Uint8Array>;
  try {
    checkIndex(index);
    chunks = await openImage(transport, url, source, signal);
  } catch (error) {
    errors.push(toLinkError(error, index));
    yield writeImage(image);
    return;
  }
  events?.beginLink();
  yield ',"b64_json":"';
  const base64 = new Base64Encoder();
  let start = "";
  for await (const chunk of chunks) {
    const encoded = base64.push(chunk);
    if (start === "") start = encoded.slice(0, 64);
    yield encoded;
  }
  yield `${base64.end()}"${writeMembers(rest)}${writeMissingFormat({ ...rest, b64_json: start })}`;
  events?.endLink();
}

function checkIndex(index: number): void {
  if (index >= MAX_IMAGES) throw new DownloadError(`At most ${MAX_IMAGES} images are downloaded.`);
}

/** Why an image stays a link. */
function toLinkError(error: unknown, index: number): ResultError {
  if (!(error instanceof DownloadError)) throw error;
  return { index, code: "image_download_failed", message: error.message };
}
