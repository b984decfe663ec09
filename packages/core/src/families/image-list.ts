import { z } from "zod";
import { isUploadedImage, type ReferenceImage } from "../images/reference-image.js";

/**
 * One reference image or a list of them, as `image` takes it. Ends at the first wrong element: a list of a
 * million wrong ones would become a million issues.
 */
export const imageList = z.custom<ReferenceImage | ReferenceImage[]>(
  (value) =>
    isReferenceImage(value) || (Array.isArray(value) && value.length > 0 && value.every(isReferenceImage)),
  "must be a URL or data URL, or a list of at least one of them",
);

/** True for a text and for an image that came as bytes. */
export function isReferenceImage(value: unknown): value is ReferenceImage {
  return typeof value === "string" || isUploadedImage(value);
}
