import type { GatewayRequest } from "../exchange.js";
import type { Operation } from "../image-request.js";
import type { JsonObject } from "../json.js";
import { readJson } from "./read-json.js";
import { readMultipart } from "./read-multipart.js";
import type { Shelf } from "./spool.js";

/** How large a request's body may be, in bytes. */
export interface BodyLimits {
  /** JSON bodies, data URLs included. Default 64 MiB. */
  readonly json: number;
  /** A multipart form, files included. Default 64 MiB. */
  readonly form: number;
  /** One file of a form. Default 30 MiB. */
  readonly file: number;
}

/** How fields are read. */
export interface ReadFieldsContext {
  readonly operation: Operation;
  readonly limits: BodyLimits;
  /** Where the files of a form are kept: opened where it is asked for. */
  readonly visit: { readonly shelf: Shelf };
}

/** The fields of a request, from JSON or, at the edits endpoint, from a form whose files become images. */
export function readFields(
  request: GatewayRequest,
  { operation, limits, visit }: ReadFieldsContext,
): JsonObject | Promise<JsonObject> {
  if (operation !== "edit") return readJson(request, limits.json);
  return readMultipart(request, { limits, shelf: visit.shelf });
}
