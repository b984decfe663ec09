import { GatewayError, invalidRequest, overloaded } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import type { ResultSource } from "../images/link-hosts.js";
import {
  createUploadedImage,
  decodeDataUrl,
  detectMediaType,
  isLink,
  isUploadedImage,
  type ReferenceImage,
  readMediaType,
  type UploadedImage,
} from "../images/reference-image.js";
import type { RequestSpool } from "../images/spool.js";
import type { ImageRequest } from "../types.js";
import { DownloadError, openImage } from "./download.js";
import type { Transport } from "./transport.js";

/**
 * Returns the request with its reference images, its mask and its markup as bytes.
 *
 * @throws GatewayError `invalid_request_error` for a link that leads to no image, `overloaded` if there is no room,
 *   `client_closed_request` if the client disconnects during a download
 */
export type LoadReferences = (
  request: ImageRequest,
  client: Pick<GatewayRequest, "signal">,
) => Promise<ImageRequest>;

/** What the download of reference images needs. */
export interface ReferenceParts {
  readonly transport: Transport;
  /** Counts the bytes, and stores them until the request is over. */
  readonly slot: { readonly bytes: { add(count: number): boolean }; readonly spool: RequestSpool };
  /** The largest size of an image, in bytes. */
  readonly maxBytes: number;
}

/** The links come from clients: only public addresses, only https, whatever the options allow for results. */
const PUBLIC_ONLY: ResultSource = { baseUrl: "https://none.invalid", resultHosts: [] };

/** How many images are downloaded at the same time. */
const MAX_AT_ONCE = 4;

/**
 * Creates the loader of one request. A link is downloaded once, although several attempts and several calls of the
 * request may need it.
 */
export function createReferenceLoader(parts: ReferenceParts): LoadReferences {
  let loaded: Map<string, Promise<UploadedImage>> | undefined;
  return (request, client) =>
    replaceImages(request, (image, param, signal) => {
      loaded ??= new Map();
      if (!isLink(image)) return toUpload(image);
      const known = loaded.get(image) ?? download(image, param, { ...parts, client, signal });
      loaded.set(image, known);
      return known;
    });
}

/** The loader of a request without links. */
export const toUploads: LoadReferences = (request) => replaceImages(request, toUpload);

/** @param signal ends a download when another one has failed */
type Load = (
  image: ReferenceImage,
  param: string,
  signal: AbortSignal,
) => Promise<UploadedImage> | UploadedImage;

async function replaceImages(request: ImageRequest, load: Load): Promise<ImageRequest> {
  const { mask, markup } = request;
  const [images, [loadedMask], [loadedMarkup]] = [
    await loadAll(request.images, load, (at) => `image[${at}]`),
    await loadAll(mask === undefined ? [] : [mask], load, () => "mask"),
    await loadAll(markup === undefined ? [] : [markup], load, () => "markup"),
  ];
  return {
    ...request,
    images,
    ...(loadedMask !== undefined && { mask: loadedMask }),
    ...(loadedMarkup !== undefined && { markup: loadedMarkup }),
  };
}

/** Returns when no download runs any more, because their bytes count for the request. */
async function loadAll(
  images: readonly ReferenceImage[],
  load: Load,
  nameOf: (index: number) => string,
): Promise<readonly UploadedImage[]> {
  const loaded: UploadedImage[] = [];
  const failing = new AbortController();
  for (let start = 0; start < images.length; start += MAX_AT_ONCE) {
    const group = images.slice(start, start + MAX_AT_ONCE);
    const loading = group.map(async (image, at) => {
      try {
        return await load(image, nameOf(start + at), failing.signal);
      } catch (error) {
        failing.abort(error);
        throw error;
      }
    });
    await Promise.allSettled(loading);
    failing.signal.throwIfAborted();
    loaded.push(...(await Promise.all(loading)));
  }
  return loaded;
}

function toUpload(image: ReferenceImage): UploadedImage {
  if (isUploadedImage(image)) return image;
  const bytes = decodeDataUrl(image);
  const chunks = (): readonly Uint8Array[] => [bytes];
  const mediaType = readMediaType(image) ?? "application/octet-stream";
  return createUploadedImage(mediaType, { byteLength: bytes.length, chunks, chunksSync: chunks });
}

interface ReferenceDownload extends ReferenceParts {
  readonly client: Pick<GatewayRequest, "signal">;
  readonly signal: AbortSignal;
}

/** @throws GatewayError */
async function download(
  link: string,
  param: string,
  { transport, slot, maxBytes, client, signal }: ReferenceDownload,
): Promise<UploadedImage> {
  const writer = slot.spool.begin();
  let length = 0;
  try {
    for await (const chunk of await openImage(transport, link, PUBLIC_ONLY, signal)) {
      if (client.signal.aborted) throw new GatewayError("client_closed_request", "The client left.");
      length += chunk.length;
      if (length > maxBytes) throw new DownloadError(`The image is larger than ${maxBytes} bytes.`);
      if (!slot.bytes.add(chunk.length)) throw overloaded();
      await writer.write(chunk);
    }
  } catch (cause) {
    if (!(cause instanceof DownloadError)) throw cause;
    throw invalidRequest(
      `${param} cannot be used: ${cause.message} Send a public https link or a data URL.`,
      param,
    );
  }
  const file = await writer.end();
  const mediaType = detectMediaType(file.head);
  if (mediaType === undefined)
    throw invalidRequest(`${param} is a link to something that is not an image.`, param);
  return createUploadedImage(mediaType, file);
}
