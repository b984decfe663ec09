import { isJsonObject } from "../../util/json.js";
import type { ResponseShape } from "../family.js";
import { readCount } from "../read-values.js";
import { isImage, readError, readUsage, toResultError } from "./from-upstream.js";

/** An answer of Ark, read as its bytes go by by the same rules as {@link fromSeedream} reads a whole one. */
export const SEEDREAM_ANSWER: ResponseShape = {
  model: "model",
  created: "created",
  items: "data",
  usage: "usage",
  failure: "error",
  readItem: (item, index) => (isImage(item) ? "image" : toResultError(item, index)),
  readUsage,
  readFailure: (failure) => (isJsonObject(failure) ? readError(failure) : undefined),
  readCreated: readCount,
};
