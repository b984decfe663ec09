import { Buffer } from "node:buffer";
import type { ResultError, ResultImage } from "../types.js";
import { DownloadError, downloadImage, type ResultSource } from "../upstream/download.js";
import type { Transport } from "../upstream/transport.js";
import type { ByteCount } from "../util/held-bytes.js";
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

/** No provider makes more images for one request. Further images in a response stay links. */
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
    if (index >= MAX_IMAGES) throw new DownloadError(`At most ${MAX_IMAGES} images are downloaded.`);
    const b64_json = Buffer.concat(await downloadImage(transport, url, source)).toString("base64");
    bytes.addAnyway(b64_json.length);
    return { image: { ...rest, b64_json } };
  } catch (error) {
    if (!(error instanceof DownloadError)) throw error;
    return { image, error: { index, code: "image_download_failed", message: error.message } };
  }
}
