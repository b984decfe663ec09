import type { ResultSource } from "../images/link-hosts.js";
import type { Call, CallParts } from "./call.js";
import { ImageDelivery } from "./image-delivery.js";

/**
 * Creates the delivery of the images of one response.
 *
 * @param source the channel that made the images
 * @param isNative true if the client gets the provider's own JSON or events
 */
export function createImageDelivery(
  { transport, results, afterImage }: CallParts,
  { id, billed: { caller }, linkBase, request, bytes, logger, onImage, firstImageIndex = 0 }: Call,
  source: ResultSource,
  isNative: boolean,
): ImageDelivery {
  const { operation, model, prompt, responseFormat } = request;
  const isStored = storesImages(results, request);
  return new ImageDelivery({
    transport,
    bytes,
    source,
    store: isStored
      ? {
          put: (image) => results.store(image, linkBase),
          open: results.open,
          timeoutMs: results.timeoutMs,
        }
      : undefined,
    afterImage:
      isStored && afterImage !== undefined
        ? {
            run: afterImage,
            call: { id, caller, model, operation, prompt },
            timeoutMs: results.timeoutMs,
            firstIndex: firstImageIndex,
          }
        : undefined,
    onImage,
    format: isNative ? "provider" : responseFormat === "b64_json" ? "b64_json" : "url",
    logger,
  });
}

/** Whether the images of a request are stored. */
export function storesImages(
  results: CallParts["results"],
  { operation }: Call["request"],
): results is NonNullable<CallParts["results"]> {
  return results !== undefined && (operation !== "native" || results.isNative);
}
