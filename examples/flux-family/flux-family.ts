// A family of one's own for a provider that works with jobs: FLUX.2 of Black Forest Labs. `POST /v1/{model}` responds with
// the id of a job, the URL to ask for its state, and its cost. The result is in the last response, with a link that is
// valid for ten minutes. Sources: docs.bfl.ai (integration, errors), November 2026.
import {
  countUpstreamCalls,
  type FailedResponse,
  type Family,
  failureKindOfStatus,
  findNearestSize,
  type ImageRequest,
  type ImageResult,
  invalidRequest,
  isReferenceImage,
  type JobState,
  type JsonObject,
  type NormalizeContext,
  parsePixels,
  type ReferenceImage,
  readCost,
  readText,
  type SizeLimits,
  type Submission,
  toBase64,
  toReferenceImage,
  type UpstreamCall,
  type UpstreamFailure,
} from "@calotype/core/families";

const MAX_PIXELS = 4 * 1024 * 1024;
const SIZES: SizeLimits = {
  side: { min: 64, max: 4096 },
  multipleOf: 16,
  totalPixels: { min: 64 * 64, max: MAX_PIXELS },
};
const DEFAULT_SIZE = "1024x1024";
const MAX_REFERENCES = 8;
const IMAGE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp"]);

export const fluxFamily: Family = {
  name: "flux",
  defaultBaseUrl: "https://api.bfl.ai/v1",
  // The URL of a job may be on a regional host.
  hosts: ["*.bfl.ai"],
  operations: new Set(["generate", "edit"]),
  authorize: (key) => ({ "x-key": key }),
  delivers: ["url"],
  reportsTokens: false,
  takesImageBytes: true,
  fields: { n: "number", seed: "number", safety_tolerance: "number", stream: "boolean" },
  // One image per call: for `n` above 1 the gateway submits several jobs.
  findCapabilities: () => ({ size: SIZES, imagesPerCall: 1, references: { max: MAX_REFERENCES } }),
  normalize,
  toUpstream,
  jobs: {
    readSubmission,
    poll({ id, data }) {
      const url = readText(data?.["url"]);
      return {
        method: "GET",
        ...(url === undefined ? { path: "/get_result", query: { id } } : { path: url }),
      };
    },
    readPoll,
    pollSeconds: 0.5,
  },
  fromUpstream,
  toFailure,
};

/** Checks what decides the charge, the size and the call. The provider checks the other fields, which are sent as they came. */
function normalize(fields: JsonObject, context: NormalizeContext): ImageRequest {
  const { prompt, n, size, image, stream = false, response_format: format, ...settings } = fields;
  if (typeof prompt !== "string" || prompt === "") throw invalidRequest("prompt is required.", "prompt");
  if (n !== undefined && (typeof n !== "number" || !Number.isInteger(n) || n < 1)) {
    throw invalidRequest("n must be a whole number of at least 1.", "n");
  }
  // With the stream format `openai` the gateway makes the stream from the response.
  if (stream !== false && context.streamFormat !== "openai") {
    throw invalidRequest("stream is not offered for this model: leave it out.", "stream");
  }
  if (format !== undefined && format !== "url" && format !== "b64_json") {
    throw invalidRequest('response_format must be "url" or "b64_json".', "response_format");
  }
  const upstreamCalls = countUpstreamCalls({ n, stream: stream === true }, context);
  if (n !== undefined && n > upstreamCalls) throw invalidRequest("n must be 1 for this model.", "n");
  const images = readImages(image);
  const sides = chooseSize(size, context);
  return {
    operation: context.operation,
    model: context.model,
    prompt,
    images,
    maxImages: upstreamCalls,
    ...(upstreamCalls > 1 && { upstreamCalls }),
    maxPixels: sides === undefined ? MAX_PIXELS : sides.width * sides.height,
    responseFormat: format ?? context.defaultResponseFormat ?? context.ownResponseFormat ?? "url",
    stream: stream === true,
    ...(sides !== undefined && size !== sides.size && { replacedSize: sides.size }),
    upstreamFields: {
      ...settings,
      prompt,
      ...(sides !== undefined && { width: sides.width, height: sides.height }),
    },
    ignored: [],
  };
}

function readImages(image: unknown): readonly ReferenceImage[] {
  const images: readonly unknown[] = [image ?? []].flat();
  if (images.length > MAX_REFERENCES) {
    throw invalidRequest(`Send at most ${MAX_REFERENCES} images: this model takes no more.`, "image");
  }
  return images.map((item) => {
    if (!isReferenceImage(item)) throw invalidRequest("image must be a link or a data URL.", "image");
    return toReferenceImage(item, "image", IMAGE_TYPES);
  });
}

/** OpenAI's `size` as width and height. `undefined`: the provider chooses, by the first reference image. */
function chooseSize(
  size: unknown,
  { sizes, capabilities }: NormalizeContext,
): { readonly size: string; readonly width: number; readonly height: number } | undefined {
  if (typeof size !== "string" || size === "auto") return undefined;
  const limits = capabilities?.size === undefined || capabilities.size === "none" ? SIZES : capabilities.size;
  const nearest = findNearestSize({ size }, limits);
  const chosen = sizes === "nearest" && nearest !== undefined ? nearest : size;
  const [width, height] = parsePixels(chosen, "x") ?? [];
  if (width === undefined || height === undefined || chosen !== nearest) {
    throw invalidRequest(`size is not supported: send ${nearest ?? DEFAULT_SIZE}.`, "size");
  }
  return { size: chosen, width, height };
}

/** The first image is `input_image`, the next one `input_image_2`. Links stay links; bytes are base64 without a prefix. */
function toUpstream({ images, upstreamFields }: ImageRequest, upstreamModel: string): UpstreamCall {
  const inputs = images.map((image, at) => [
    at === 0 ? "input_image" : `input_image_${at + 1}`,
    typeof image === "string" && !image.startsWith("data:") ? image : toBase64(image),
  ]);
  return {
    path: `/${encodeURIComponent(upstreamModel)}`,
    body: { json: { ...upstreamFields, ...Object.fromEntries(inputs) } },
  };
}

/** `{ "id", "polling_url", "cost" }`. The cost is in credits of one cent, and known before the image is made. */
function readSubmission({ id, polling_url: url, cost }: JsonObject): Submission {
  const dollars = readCost(cost, 2);
  return {
    job: {
      id: readText(id) ?? "",
      ...(readText(url) !== undefined && { data: { url } }),
      ...(dollars !== undefined && { usage: { cost_usd: dollars } }),
    },
  };
}

const PENDING: ReadonlySet<unknown> = new Set(["Pending", "Queued", "Processing", "Reasoning"]);
const MODERATED: ReadonlySet<unknown> = new Set(["Request Moderated", "Content Moderated"]);

/** `{ "status", "result", "details" }`, always with status 200. */
function readPoll({ status, details }: JsonObject): JobState {
  if (status === "Ready") return { state: "done" };
  if (PENDING.has(status)) return { state: "pending" };
  const code = readText(status) ?? "unknown_status";
  const kind = MODERATED.has(status) ? "content" : "server";
  const reason = details === null || details === undefined ? "" : `: ${JSON.stringify(details)}`;
  return { state: "failed", failure: { kind, code, message: `${code}${reason}` } };
}

/** The last response to a poll: `{ "result": { "sample": link } }`. */
function fromUpstream({ result }: JsonObject, { upstreamFields }: ImageRequest): ImageResult {
  const sample =
    typeof result === "object" && result !== null && "sample" in result ? result.sample : undefined;
  const url = readText(sample);
  const { width, height } = upstreamFields;
  const size = typeof width === "number" && typeof height === "number" ? { size: `${width}x${height}` } : {};
  const images = url === undefined ? [] : [{ url, ...size }];
  return { images, errors: [], fields: {}, usage: { generated_images: images.length } };
}

/** `{ "detail": text | [{ msg }] }`. 402: the account has no credits. */
function toFailure({ status, body }: FailedResponse): UpstreamFailure {
  const detail: unknown = body?.["detail"];
  const [first] = Array.isArray(detail) ? detail : [];
  const message = readText(detail) ?? readText(first?.msg);
  return { kind: status === 402 ? "quota" : failureKindOfStatus(status), message };
}
