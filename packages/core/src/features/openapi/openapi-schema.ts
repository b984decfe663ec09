import * as z from "zod/mini";
import { IS_WORKERS, type OptionsProblem } from "../../options/options.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";

const OPENAPI = "must be true, false, or an OpenAPI document";

const OPENAPI_ON_WORKERS =
  "must be the document on Cloudflare Workers: openApiDocument of @calotype/core/openapi";

/** The schema of the option `openapi`. */
export const openapiSchema = /* @__PURE__ */ (() =>
  z.optional(
    z
      .custom<boolean | JsonObject>((value) => typeof value === "boolean" || isJsonObject(value), OPENAPI)
      .check(z.refine((value) => value !== true || !IS_WORKERS, OPENAPI_ON_WORKERS)),
  ))();

/** The page reads the document. */
export function* checkReference({
  openapi = false,
  reference,
}: {
  readonly openapi?: unknown;
  readonly reference?: unknown;
}): Iterable<OptionsProblem> {
  if (reference !== undefined && openapi === false) yield { path: "reference", message: "needs openapi" };
}
