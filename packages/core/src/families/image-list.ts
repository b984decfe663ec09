import * as z from "zod/mini";
import type { ReferenceImage } from "../images/reference-image.js";
import { isReferenceImage } from "./shared.js";

// Not in shared.ts, because declarations that users load must not import zod, which they do not install.

/**
 * One reference image or a list of them, as in the field `image`. The check ends at the first wrong element, because
 * a list of a million wrong ones would produce a million issues.
 */
export const imageList = z.custom<ReferenceImage | ReferenceImage[]>(
  (value) =>
    isReferenceImage(value) || (Array.isArray(value) && value.length > 0 && value.every(isReferenceImage)),
  "must be a URL or data URL, or a list of at least one of them",
);
