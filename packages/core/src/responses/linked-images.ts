import { Base64Encoder, toBase64 } from "../images/base64-stream.js";
import type { ResultImage } from "../types.js";
import { DownloadError, openImage } from "../upstream/download.js";
import { ArrivingBytes, type ImageBudget, type ReadImage, readWithinBudget } from "./image-budget.js";
import type { ImageLayout, WholeImage } from "./image-parts.js";
import type { ImageDelivery, ImageDeliveryOptions } from "./image-stage.js";
import { isLink } from "./rewrite.js";

/** An image as it is delivered, or a link whose image does not fit into the budget. */
export type SmallOrLarge =
  | { readonly image: ResultImage | undefined; readonly large?: undefined }
  | { readonly image?: undefined; readonly large: WholeImage };

/** At most this many links of one response are downloaded; further images stay links. Layers may have more images. */
const MAX_IMAGES = 15;
/** Each has up to 64 MiB. */
const MAX_AT_ONCE = 4;

/** Whether the client gets base64 of this image. */
export function wantsBase64({ format }: Pick<ImageDeliveryOptions, "format">, image: ResultImage): boolean {
  return format === "provider" ? !isLink(image) : format === "b64_json";
}

/** True if the base64 of an image that is a link is sent to the client while it is downloaded. */
export function streamsLink({ options, forwardsBase64 }: ImageDelivery, image: ResultImage): boolean {
  return forwardsBase64 && wantsBase64(options, image) && isLink(image);
}

/** Calls `onImage` for a delivered image with a link, without its base64. */
export function tellImage(
  { onImage }: Pick<ImageDeliveryOptions, "onImage">,
  { b64_json: _base64, ...image }: ResultImage,
): void {
  if (image.url !== undefined || image["stored_url"] !== undefined) onImage?.(image);
}

/**
 * Begins the download of an image that is a link.
 *
 * @throws DownloadError
 */
export async function openLink(
  options: ImageDeliveryOptions,
  { image, index }: Pick<WholeImage, "image" | "index">,
  signal?: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  if (index >= MAX_IMAGES) throw new DownloadError(`At most ${MAX_IMAGES} images are downloaded.`);
  return openMarked(options, image.url ?? "", signal);
}

/**
 * Begins the download of an image, and marks it while it arrives, if images are marked.
 *
 * @throws DownloadError
 */
export async function openMarked(
  { transport, source, marks }: ImageDeliveryOptions,
  link: string,
  signal?: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const chunks = await openImage(transport, link, source, signal);
  return marks === undefined ? chunks : marks.open(chunks);
}

/** Delivers several images that are links or have short base64, a few at a time. */
export async function deliverAll(
  delivery: ImageDelivery,
  images: readonly WholeImage[],
): Promise<readonly (ResultImage | undefined)[]> {
  return inGroups(images, ({ image, index }) => delivery.deliver(image, index));
}

/**
 * As {@link deliverAll}, but images whose links become base64 are delivered only if they fit into the budget.
 *
 * @param signal ends the downloads when nothing is sent any more
 */
export async function deliverSmall(
  delivery: ImageDelivery,
  images: readonly WholeImage[],
  { budget, signal }: { readonly budget: ImageBudget; readonly signal?: AbortSignal | undefined },
): Promise<readonly SmallOrLarge[]> {
  return inGroups(images, async (linked): Promise<SmallOrLarge> => {
    const { image, index } = linked;
    const { options, errors } = delivery;
    if (!streamsLink(delivery, image)) return { image: await delivery.deliver(image, index) };
    const large = { ...linked, isBegun: true };
    if (budget.isExceeded) return { large };
    let bytes: ReadImage;
    try {
      bytes = await readWithinBudget(await openLink(options, linked, signal), budget, options.bytes);
    } catch (error) {
      errors.add(error, index);
      return { image: keepLink(delivery, image, error) };
    }
    if (bytes instanceof ArrivingBytes) return { large: { ...large, arriving: bytes } };
    const copy = delivery.copyLink?.(index, bytes.length);
    await copy?.write(bytes);
    const storedUrl = await copy?.end();
    const { url: _url, ...rest } = image;
    const delivered = { ...rest, b64_json: toBase64(bytes), ...toStoredUrl(storedUrl) };
    tellImage(options, delivered);
    return { image: delivered };
  });
}

/** How an image is sent while it is read. */
export interface ImageOutput {
  readonly delivery: ImageDelivery;
  readonly layout: ImageLayout;
  /** Aborted when the client has disconnected. The download of a link then ends. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads an image that is a link, and returns what is sent for it with base64, while it arrives. It is copied at the same
 * time. If the download cannot begin, the image stays a link.
 *
 * @throws DownloadError if the download breaks off, because a part of the image has been sent
 */
export async function* streamLink(
  { delivery, layout, signal }: ImageOutput,
  linked: WholeImage,
): AsyncGenerator<string> {
  if (signal?.aborted === true) return;
  const { image, index } = linked;
  const { options, errors } = delivery;
  // A provider may send an empty `b64_json` beside the link.
  const { url: _url, b64_json: _empty, ...rest } = image;
  let chunks: AsyncIterable<Uint8Array>;
  try {
    chunks = linked.arriving ?? (await openLink(options, linked, signal));
  } catch (error) {
    errors.add(error, index);
    // What comes before the image has been written.
    yield layout.link(keepLink(delivery, image, error) ?? { ...rest, b64_json: "" });
    return;
  }
  const base64 = new ImageEncoder();
  yield layout.beginBase64();
  const copy = delivery.copyLink?.(index);
  let storedUrl: string | undefined;
  try {
    for await (const chunk of chunks) {
      const encoded = base64.push(chunk);
      const written = copy?.write(chunk);
      yield encoded;
      if (written !== undefined) await written;
    }
    storedUrl = await copy?.end();
  } finally {
    copy?.cancel(new DownloadError("The download of the image broke off."));
  }
  const members = { ...rest, ...toStoredUrl(storedUrl) };
  tellImage(options, members);
  yield base64.end() + layout.endBase64(members, base64.start);
  layout.sentLink();
}

/** What is delivered of an image whose link could not be downloaded: the link, unless the image must be marked. */
function keepLink(delivery: ImageDelivery, image: ResultImage, error: unknown): ResultImage | undefined {
  if (delivery.keepLink !== undefined) return delivery.keepLink(image, error);
  tellImage(delivery.options, image);
  return image;
}

/** Encodes an image whose bytes arrive in chunks. */
export class ImageEncoder extends Base64Encoder {
  /** The beginning of the base64. */
  start = "";

  override push(chunk: Uint8Array): string {
    const encoded = super.push(chunk);
    if (this.start === "") this.start = encoded.slice(0, 64);
    return encoded;
  }
}

/** The member for the link of the store, if the client gets base64. Not `url`: some clients prefer a link if there is one. */
export function toStoredUrl(url: string | undefined): { readonly stored_url?: string } {
  return url === undefined ? {} : { stored_url: url };
}

/** Runs `work` for all items, a few at a time. */
async function inGroups<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += MAX_AT_ONCE) {
    results.push(...(await Promise.all(items.slice(start, start + MAX_AT_ONCE).map(work))));
  }
  return results;
}
