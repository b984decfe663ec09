import { parsePixels } from "../../images/size.js";
import type { ImageRequest, ImageResult, MadeImage, ResultImage, Usage } from "../../types.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import type { UpstreamFailure } from "../failure.js";
import { classifyFailure, createCodeTable, isSuccessCode, readCount, readText } from "../shared.js";

/**
 * Reads a response of DashScope: every image of every choice, `image_count` as `generated_images`, and the request id
 * in `extra`. A `code` in an HTTP 200 is a failure, unless it says that the request succeeded. DashScope states one size
 * for all images; if the request wants it, each image gets it, or else the size that was requested.
 */
export function fromQwenImage(body: JsonObject, request: ImageRequest): ImageResult {
  const output = isJsonObject(body["output"]) ? body["output"] : {};
  const choices = Array.isArray(output["choices"]) ? output["choices"] : [];
  const code = readFailureCode(body["code"]);
  const requestId = readText(body["request_id"]);
  const made = readMade(body["usage"]);
  const size = request.statesSize === true ? (made.size ?? readRequestedSize(request)) : undefined;
  const stated = size === undefined ? {} : { size: size.replace("*", "x") };
  const images = choices.flatMap(readChoice).map((image) => ({ ...image, ...stated }));
  return {
    images,
    made: images.map(() => made),
    errors: [],
    fields: {},
    failure: code === undefined ? undefined : { code, message: readText(body["message"]) ?? code },
    usage: readUsage(body["usage"]),
    upstreamRequestId: requestId,
    extra: { request_id: requestId ?? "" },
  };
}

function readRequestedSize({ upstreamFields: { parameters } }: ImageRequest): string | undefined {
  return isJsonObject(parameters) ? readText(parameters["size"]) : undefined;
}

function readFailureCode(code: unknown): string | undefined {
  return isSuccessCode(code) ? undefined : readText(code);
}

/** Images of one choice. A text next to them is the prompt as the model rewrote it. */
function readChoice(choice: unknown): ResultImage[] {
  const message = isJsonObject(choice) && isJsonObject(choice["message"]) ? choice["message"] : {};
  const items = Array.isArray(message["content"]) ? message["content"].filter(isJsonObject) : [];
  const revisedPrompt = items.map((item) => readText(item["text"])).find((text) => text !== undefined) ?? "";
  return items
    .map((item) => readText(item["image"]))
    .filter((url) => url !== undefined)
    .map((url) => ({ url, revised_prompt: revisedPrompt }));
}

function readUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const count = readCount(usage["image_count"]) ?? readCount(usage["output_image_count"]);
  if (count === undefined) return undefined;
  const inputs = readCount(usage["input_image_count"]);
  return { generated_images: count, ...(inputs !== undefined && { input_image_count: inputs }) };
}

/**
 * All images of a response have one size. The models 2.0 and 3.0 report it as `output_width` and `output_height`, Wan as
 * `size`.
 */
function readMade(usage: unknown): MadeImage {
  if (!isJsonObject(usage)) return {};
  const size = readText(usage["size"]);
  if (size !== undefined && parsePixels(size, "*") !== undefined) return { size };
  const width = readCount(usage["output_width"]) ?? readCount(usage["width"]);
  const height = readCount(usage["output_height"]) ?? readCount(usage["height"]);
  return width === undefined || height === undefined ? {} : { size: `${width}*${height}` };
}

/** DashScope's error codes (November 2026). The same code means the same with any HTTP status, 200 included. */
const CODES = createCodeTable(
  [{ kind: "model" }, "ModelNotFound"],
  // The account may not use this model, or has used up the model's free images. The account's other models work.
  [
    { kind: "credential", scope: "model" },
    "Model.AccessDenied",
    "AccessDenied.Unpurchased",
    "AllocationQuota.FreeTierOnly",
  ],
  [{ kind: "credential" }, "InvalidApiKey", "AccessDenied", "Arrearage"],
  // DashScope limits each model of an account separately.
  [{ kind: "rate", scope: "model" }, "Throttling.RateQuota", "Throttling.AllocationQuota", "LimitRequests"],
  [{ kind: "rate" }, "Throttling"],
  [{ kind: "quota" }, "PrepaidBillOverdue", "PostpaidBillOverdue", "CommodityNotPurchased"],
  [{ kind: "overload" }, "ModelUnavailable"],
  [{ kind: "server" }, "InternalError", "InternalError.Timeout", "SystemError", "RequestTimeOut"],
);

/** An error response of DashScope: `{"request_id","code","message"}`. */
export function toQwenImageFailure(status: number, body: JsonObject | undefined): UpstreamFailure {
  const code = readText(body?.["code"]);
  return {
    ...classifyFailure(CODES, status, code),
    code,
    message: readText(body?.["message"]),
    requestId: readText(body?.["request_id"]),
  };
}
