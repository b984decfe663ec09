// A family of one's own: Stable Diffusion web UI, a server for one's own machines. Its API (`--api`) makes images at
// `/sdapi/v1/txt2img` and changes them at `/sdapi/v1/img2img`; both respond with `{ "images": [base64] }`.
import {
  type FailedResponse,
  type Family,
  failureKindOfStatus,
  findNearestSize,
  type ImageRequest,
  type ImageResult,
  invalidRequest,
  isReferenceImage,
  type JsonObject,
  type NormalizeContext,
  parsePixels,
  readText,
  type SizeLimits,
  toBase64,
  toReferenceImage,
  type UpstreamCall,
  type UpstreamFailure,
} from "@calotype/core/families";

/** What the models can make. An operator can replace it in `models[…].capabilities`. */
const SIZES: SizeLimits = { side: { min: 64, max: 2048 }, multipleOf: 8 };
const DEFAULT_SIZE = "1024x1024";
const MAX_IMAGES = 8;
const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp"]);

export const webuiFamily: Family = {
  name: "webui",
  defaultBaseUrl: "http://127.0.0.1:7860/sdapi/v1",
  operations: new Set(["generate", "edit"]),
  // `--api-auth user:password` is HTTP's basic authentication. The channel's key is `user:password`.
  authorize: (key) => ({ authorization: `Basic ${btoa(key)}` }),
  delivers: ["b64_json"],
  reportsTokens: false,
  takesImageBytes: true,
  fields: {
    n: "number",
    seed: "number",
    steps: "number",
    cfg_scale: "number",
    stream: "boolean",
    mask: "image",
  },
  findCapabilities: () => ({ size: SIZES, imagesPerCall: MAX_IMAGES, references: { max: 1 } }),
  normalize,
  // The server takes images as base64. The gateway downloads those that are links.
  needsImageBytes: ({ images }) => images.length > 0,
  toUpstream,
  fromUpstream,
  toFailure,
};

/** Checks what decides the charge, the size and the call. The server checks the other fields, which are sent as they came. */
function normalize(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { prompt, n = 1, size, image, mask, stream = false, response_format: format, ...settings } = fields;
  if (typeof prompt !== "string" || prompt === "") throw invalidRequest("prompt is required.", "prompt");
  const most = context.capabilities?.imagesPerCall ?? MAX_IMAGES;
  if (typeof n !== "number" || !Number.isInteger(n) || n < 1 || n > most) {
    throw invalidRequest(`n must be a whole number from 1 to ${most}.`, "n");
  }
  // With the stream format `openai` the gateway makes the stream from the response.
  if (stream !== false && context.streamFormat !== "openai") {
    throw invalidRequest("stream is not offered for this model: leave it out.", "stream");
  }
  if (format !== undefined && format !== "url" && format !== "b64_json") {
    throw invalidRequest('response_format must be "url" or "b64_json".', "response_format");
  }
  const images = [image ?? []].flat();
  if (images.length > 1) throw invalidRequest("Send one image: this model takes no more.", "image");
  const sides = chooseSize(size, context);
  return {
    operation: context.operation,
    model: context.model,
    prompt,
    images: images.map((item) => {
      if (!isReferenceImage(item)) throw invalidRequest("image must be a link or a data URL.", "image");
      return toReferenceImage(item, "image", IMAGE_TYPES);
    }),
    ...(isReferenceImage(mask) && { mask }),
    maxImages: n,
    maxPixels: sides.width * sides.height,
    responseFormat: format ?? context.defaultResponseFormat ?? context.ownResponseFormat ?? "b64_json",
    stream: stream === true,
    statesSize: true,
    ...(sides.size !== size && size !== undefined && { replacedSize: sides.size }),
    upstreamFields: { ...settings, prompt, batch_size: n, width: sides.width, height: sides.height },
    ignored: [],
  };
}

/** OpenAI's `size` as the width and height that the server takes. */
function chooseSize(
  size: unknown,
  { sizes, capabilities }: NormalizeContext,
): { readonly size: string; readonly width: number; readonly height: number } {
  const limits = capabilities?.size === undefined || capabilities.size === "none" ? SIZES : capabilities.size;
  const wanted = typeof size !== "string" || size === "auto" ? DEFAULT_SIZE : size;
  const nearest = findNearestSize({ size: wanted }, limits);
  const chosen = sizes === "nearest" && nearest !== undefined ? nearest : wanted;
  const [width, height] = parsePixels(chosen, "x") ?? [];
  if (width === undefined || height === undefined || chosen !== nearest) {
    throw invalidRequest(
      `size ${wanted.slice(0, 32)} is not supported: send ${nearest ?? DEFAULT_SIZE}.`,
      "size",
    );
  }
  return { size: chosen, width, height };
}

function toUpstream({ images, mask, upstreamFields }: ImageRequest, upstreamModel: string): UpstreamCall {
  const override_settings = { sd_model_checkpoint: upstreamModel };
  if (images.length === 0)
    return { path: "/txt2img", body: { json: { ...upstreamFields, override_settings } } };
  // In a mask of OpenAI the transparent pixels are changed, here the opaque ones.
  const masked = mask === undefined ? {} : { mask: toBase64(mask), inpainting_mask_invert: 1 };
  const init_images = images.map((image) => toBase64(image));
  return {
    path: "/img2img",
    body: { json: { ...upstreamFields, override_settings, init_images, ...masked } },
  };
}

/** `{ "images": [base64, …], "parameters": {…}, "info": "…" }`. Only the images are for the client. */
function fromUpstream({ images }: JsonObject, { upstreamFields }: ImageRequest): ImageResult {
  const made = (Array.isArray(images) ? images : []).filter((image) => readText(image) !== undefined);
  const size = `${String(upstreamFields["width"])}x${String(upstreamFields["height"])}`;
  return {
    images: made.map((image) => ({ b64_json: String(image), size })),
    errors: [],
    fields: {},
    // The server reports no usage. Every image that it sends was made.
    usage: { generated_images: made.length },
  };
}

/** FastAPI's errors, `{ "detail": text | [{ msg }] }`, and the server's own, `{ "error", "detail", "errors" }`. */
function toFailure({ status, body }: FailedResponse): UpstreamFailure {
  const detail: unknown = body?.["detail"];
  const [first] = Array.isArray(detail) ? detail : [];
  const message = readText(detail) ?? readText(first?.msg) ?? readText(body?.["errors"]);
  return { kind: failureKindOfStatus(status), code: readText(body?.["error"]), message };
}
