import { invalidRequest } from "../../errors.js";
import { isLink, type ReferenceImage } from "../../images/reference-image.js";
import type { ImageRequest, ResponseFormat } from "../../types.js";
import type { JsonObject } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import { createResponseReader } from "../read-response.js";
import type { ResponseShape } from "../response-shape.js";
import type { UpstreamCall } from "../upstream-call.js";
import { type Codes, createFailureReader } from "./failure.js";
import { createShape } from "./response.js";
import { PATHS, toFormEdit } from "./upstream.js";

/** What a service with OpenAI's API does differently, as data as far as possible. */
export interface Service {
  /** Absent: each channel needs a `baseUrl`. */
  readonly baseUrl?: string;
  /** The path of a `baseUrl` without a path. Default: that of `baseUrl`. */
  readonly defaultPath?: string;
  /** The path of generations. Default `/images/generations`. */
  readonly path?: string;
  readonly delivers: Dialect["delivers"];
  /** What each format is called in `response_format`. Absent: the field is not sent. */
  readonly responseFormats?: Readonly<Record<ResponseFormat, string>>;
  /** The field of the size, or how a size is written. Default `size`. */
  readonly size?: string | ((size: string) => JsonObject);
  /** The field of the number of images; `"none"` if a call makes one. Default `n`. */
  readonly count?: string;
  /** `form`: files to `/images/edits`. `none`: it takes none. Otherwise the fields of JSON that hold the images. */
  readonly references: "form" | "none" | ((images: readonly ReferenceImage[]) => JsonObject);
  /**
   * False if the gateway downloads the images behind links. A server of one's own must not open links of clients: it may reach
   * hosts that they do not. Default true.
   */
  readonly opensLinks?: boolean;
  /** The most reference images. Default: no limit besides that of the model. */
  readonly maxReferences?: number;
  /** The path of JSON with reference images. Default: that of generations. */
  readonly referencesPath?: string;
  /** The path of a form with one image and its `mask`. Absent: it takes no mask. */
  readonly maskPath?: string;
  /** Fields of OpenAI's clients that the service does not know. They are not sent. */
  readonly drops: readonly string[];
  /** What is different in responses. */
  readonly response?: Partial<ResponseShape>;
  /** False if the images are not in `data`: responses are then read as a whole. Default true. */
  readonly isRelayed?: boolean;
  /** True if it takes `stream` and `partial_images`. Default false. */
  readonly streams?: boolean;
  readonly requestIdHeader?: string;
  readonly codes: Codes;
}

/** A dialect that reads all responses itself. */
export type ServiceDialect = Partial<Dialect> & Pick<Dialect, "fromUpstream" | "toFailure">;

/**
 * Creates the dialect of a service. It reports no tokens and does not stream; a dialect for which that is different replaces
 * these members.
 */
export function createService(service: Service): ServiceDialect {
  const { baseUrl, defaultPath, delivers, requestIdHeader, response, codes } = service;
  const shape = createShape(codes, { readUsage: () => undefined, ...response });
  return {
    defaultBaseUrl: baseUrl,
    ...(defaultPath !== undefined && { defaultPath }),
    ...(requestIdHeader !== undefined && { requestIdHeader }),
    delivers,
    reportsTokens: false,
    needsImageBytes: (request) =>
      isForm(service, request) || (service.opensLinks === false && request.images.some(isLink)),
    toUpstream: (request, model) => toService(service, request, model),
    fromUpstream: createResponseReader(shape),
    responseShape: service.isRelayed === false ? undefined : shape,
    readStream: undefined,
    streamShape: undefined,
    toFailure: createFailureReader(codes),
  };
}

function isForm({ references, maskPath }: Service, { images, mask }: ImageRequest): boolean {
  return images.length > 0 && (references === "form" || (mask !== undefined && maskPath !== undefined));
}

function toService(service: Service, request: ImageRequest, model: string): UpstreamCall {
  checkRequest(service, request);
  const { path = PATHS.generations, references, referencesPath = path, maskPath } = service;
  const upstreamFields = toFields(service, request);
  if (isForm(service, request)) return toFormEdit({ ...request, upstreamFields }, model, maskPath);
  const { images } = request;
  const isEdit = images.length > 0 && typeof references === "function";
  const json = { model, ...upstreamFields, ...(isEdit && references(images)) };
  return { path: isEdit ? referencesPath : path, body: { json } };
}

/**
 * Refuses what the service cannot do, because without it another image would be made.
 *
 * @throws GatewayError `invalid_request_error`
 */
function checkRequest(service: Service, request: ImageRequest): void {
  const { references, maxReferences = Infinity, maskPath, count, streams } = service;
  const { images, mask, markup, stream, streamFormat } = request;
  const refuse = (name: string, what: string): never => {
    throw invalidRequest(`${what} by the provider of ${request.model}.`, name);
  };
  if (images.length > 0 && references === "none") refuse("image", "Reference images are not supported");
  if (images.length > maxReferences) {
    refuse("image", `${images.length} reference images are not supported, but at most ${maxReferences},`);
  }
  if (mask !== undefined && maskPath === undefined) refuse("mask", "mask is not supported");
  if (mask !== undefined && images.length > 1)
    refuse("image", "Several images with a mask are not supported");
  if (markup !== undefined) refuse("markup", "markup is not supported");
  const isSeveral = (request.upstreamCalls ?? 1) === 1 && request.maxImages > 1;
  if (count === "none" && isSeveral) {
    refuse("n", "More than one image per call (see `imagesPerCall` of the capabilities) is not supported");
  }
  // In OpenAI's format the gateway makes the stream.
  if (stream && streams !== true && streamFormat !== "openai") refuse("stream", "stream is not supported");
}

/** The fields in the service's own spelling. */
function toFields(service: Service, { upstreamFields, responseFormat }: ImageRequest): JsonObject {
  const { size: sizeField = "size", count = "n", responseFormats, streams } = service;
  const { size, n, ...others } = upstreamFields;
  const drops = streams === true ? service.drops : [...service.drops, "stream", "partial_images"];
  const kept = Object.entries(others).filter(
    ([name, value]) => !drops.includes(name) && !(AUTO_FIELDS.has(name) && value === "auto"),
  );
  return {
    ...Object.fromEntries(kept),
    ...(n !== undefined && count !== "none" && { [count]: n }),
    ...(typeof size === "string" && size !== "auto" && writeSize(sizeField, size)),
    ...(responseFormats !== undefined && { response_format: responseFormats[responseFormat] }),
  };
}

/** `auto` is OpenAI's word for an absent field. */
const AUTO_FIELDS: ReadonlySet<string> = new Set(["quality", "background", "moderation"]);

function writeSize(field: NonNullable<Service["size"]>, size: string): JsonObject {
  return typeof field === "string" ? { [field]: size } : field(size);
}
