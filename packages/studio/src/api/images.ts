import { GatewayError } from "@calotype/core";
import { respond, respondWithJson } from "../respond.js";
import type { StoredImages } from "../wire.js";
import type { ApiParts, ApiRoute, StudioGateway } from "./route.js";
import { findRequest } from "./usage.js";

export const IMAGE_ROUTES: readonly ApiRoute[] = [
  {
    method: "GET",
    path: "requests/:id/images",
    role: "viewer",
    async run(parts, { values: { id = "" }, query }) {
      const stored = await findStored(parts.gateway, id, query);
      const images = await Promise.all(stored.map((image) => describeImage(parts, image)));
      return respondWithJson({ images } satisfies StoredImages);
    },
  },
  {
    method: "GET",
    path: "requests/:id/images/:image",
    role: "viewer",
    async run({ gateway }, { values: { id = "", image = "" }, query }) {
      // The store also has what tasks keep there, so only images of the record are opened.
      const isOfRequest = (await findStored(gateway, id, query)).includes(image);
      const found = isOfRequest ? await gateway.openImage?.(image) : undefined;
      if (found === undefined) throw new GatewayError("not_found", "This image is not stored any more.");
      const { contentType, byteLength, body } = found;
      const type = SHOWN_TYPES.has(contentType)
        ? { "content-type": contentType, "content-disposition": "inline" }
        : { "content-type": "application/octet-stream", "content-disposition": "attachment" };
      return respond(200, body, { ...type, "content-length": String(byteLength) });
    },
  },
];

/** The types that a browser shows without running anything in them. Others are downloads. */
const SHOWN_TYPES: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
  "image/avif",
]);

/** A larger image is not loaded for a thumbnail. */
const MAX_THUMBNAIL_BYTES = 8 * 1024 * 1024;

/** The ids of the images of a request that were stored. */
async function findStored(
  gateway: StudioGateway,
  id: string,
  query: URLSearchParams,
): Promise<readonly string[]> {
  const found = await findRequest(gateway, id, query.get("near"));
  return (found?.state === "settled" ? found.stored : undefined) ?? [];
}

/** Opens the first byte of an image, to learn whether it is still stored. */
async function describeImage(
  { gateway, logger }: Pick<ApiParts, "gateway" | "logger">,
  id: string,
): Promise<StoredImages["images"][number]> {
  if (gateway.openImage === undefined) return { id, state: "unreadable" };
  try {
    const image = await gateway.openImage(id, { first: 0, last: 0 });
    if (image === undefined) return { id, state: "gone" };
    await image.body[Symbol.asyncIterator]().return?.();
    const { contentType, byteLength } = image;
    const hasThumbnail = SHOWN_TYPES.has(contentType) && byteLength <= MAX_THUMBNAIL_BYTES;
    return { id, state: "stored", byteLength, hasThumbnail };
  } catch (error) {
    if (error instanceof TypeError) return { id, state: "unreadable" };
    logger.error({ imageId: id, err: error }, "The store of results failed.");
    return { id, state: "failed" };
  }
}
