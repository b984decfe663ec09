import * as z from "zod/mini";
import { MAX_SECONDS, whole } from "../../options/schema-parts.js";
import type { Fields } from "../../util/parse-fields.js";
import type { CorsOptions } from "./cors.js";

const ORIGIN = "must be an origin such as https://app.example.com, without a path";

const ORIGINS = 'must be "*" or a list of origins';

/** The schema of {@link CorsOptions}. */
export const corsSchema = /* @__PURE__ */ (() =>
  z.strictObject(
    {
      origins: z.union(
        [
          z.literal("*"),
          z
            .array(z.string(ORIGIN).check(z.refine(isOrigin, ORIGIN)), ORIGINS)
            .check(z.minLength(1, "must contain at least one origin")),
        ],
        ORIGINS,
      ),
      maxAgeSeconds: z.optional(
        whole(0).check(z.maximum(MAX_SECONDS, `must be at most ${MAX_SECONDS}, a day`)),
      ),
    } satisfies Fields<CorsOptions>,
    "must be an object with origins",
  ))();

/** Browsers send origins in this form. Apps have schemes of their own, such as `capacitor://localhost`. */
function isOrigin(value: string): boolean {
  if (!URL.canParse(value) || value.includes("*")) return false;
  const { origin } = new URL(value);
  return origin === "null"
    ? /^(?!https?:|file:)[a-z][a-z\d+.-]*:\/\/[\w.:-]+$/.test(value)
    : origin === value;
}
