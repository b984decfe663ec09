import type { ImageRequest, ImageResult, ResultError, ResultImage, Usage } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import { readCount, readText } from "../read-values.js";
import { readSeedreamUsage } from "./usage.js";

/** An answer of Ark: the items that failed are taken out of `data`, the model gets its service name. */
export function fromSeedream(body: JsonObject, request: ImageRequest): ImageResult {
  const { model: _upstreamModel, created, data, error, ...fields } = body;
  const items: readonly unknown[] = Array.isArray(data) ? data : [];
  const images = items.filter(isImage);
  return {
    images,
    errors: images.length === items.length ? [] : readErrors(items),
    fields: { model: request.model, ...fields },
    failure: isJsonObject(error) ? readError(error) : undefined,
    usage: readUsage(fields["usage"]),
    created: readCount(created),
  };
}

function readErrors(items: readonly unknown[]): ResultError[] {
  return items.flatMap((item, index) => (isImage(item) ? [] : [toResultError(item, index)]));
}

/** An item of `data` that holds a picture. */
export function isImage(item: unknown): item is ResultImage {
  return isJsonObject(item) && (readText(item["url"]) ?? readText(item["b64_json"])) !== undefined;
}

/** Why an item of `data` holds no picture. */
export function toResultError(item: unknown, index: number): ResultError {
  const error = isJsonObject(item) && isJsonObject(item["error"]) ? item["error"] : {};
  return { index, ...readError(error) };
}

/** An error of Ark, of an item or of the whole answer. */
export function readError(error: JsonObject): { code: string; message: string } {
  return {
    code: readText(error["code"]) ?? "upstream_no_image",
    message: readText(error["message"]) ?? "The provider made no image and gave no reason.",
  };
}

/** `undefined` when the provider reported nothing that can be used. */
export function readUsage(reported: unknown): Usage | undefined {
  const usage = isJsonObject(reported) ? readSeedreamUsage(reported) : {};
  return Object.keys(usage).length === 0 ? undefined : usage;
}
