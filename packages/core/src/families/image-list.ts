import { z } from "zod";

/**
 * One reference image or a list of them, as `image` takes it. Ends at the first wrong element: a list of a
 * million wrong ones would become a million issues.
 */
export const imageList = z.custom<string | string[]>(
  (value) =>
    typeof value === "string" ||
    (Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "string")),
  "must be a URL or data URL, or a list of at least one of them",
);
