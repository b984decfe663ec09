import { invalidRequest } from "../../errors.js";
import { isLink, type ReferenceImage } from "../../images/reference-image.js";
import type {
  ImageRequest,
  ImageResult,
  ReportedFailure,
  ResponseFormat,
  ResultError,
  Usage,
} from "../../types.js";
import { isJsonObject, type JsonObject, omitMembers } from "../../util/json.js";
import type { Dialect } from "../dialect.js";
import { createResponseReader } from "../read-response.js";
import type { ResponseShape } from "../response-shape.js";
import { readCost } from "../shared.js";
import type { UpstreamCall } from "../upstream-call.js";
import { type Codes, createFailureReader } from "./failure.js";
import { createShape, readItem } from "./response.js";
import { PATHS, toFormEdit } from "./upstream.js";

/** What a service with OpenAI's API does differently, as data as far as possible. */
export interface Service {
  /** Absent: each channel needs a `baseUrl`. */
  readonly baseUrl?: string;
  /** The path of a `baseUrl` without a path. Default: that of `baseUrl`. */
  readonly defaultPath?: string;
  /** The headers that carry the key. Default: `authorization: Bearer <key>`. */
  readonly authorize?: (apiKey: string) => Readonly<Record<string, string>>;
  /** The path of generations, which may have the model; then the body does not. Default `/images/generations`. */
  readonly path?: string | ((model: string) => string);
  readonly delivers: Dialect["delivers"];
  /** What each format is called in `response_format`. Absent: the field is not sent. */
  readonly responseFormats?: Readonly<Record<ResponseFormat, string>>;
  /** The field of the size, or how a size is written. Default `size`. */
  readonly size?: string | ((size: string) => JsonObject);
  /** The field of the number of images; `"none"` if a call makes one. Default `n`. */
  readonly count?: string;
  /** Other fields that the service calls differently, by OpenAI's or the usual name. */
  readonly renames?: Readonly<Record<string, string>>;
  /**
   * `form`: files to `referencesPath`. `none`: it takes none. Otherwise the fields of JSON that hold the images, for a request
   * with these other fields.
   */
  readonly references:
    | "form"
    | "none"
    | ((images: readonly ReferenceImage[], fields: JsonObject) => JsonObject);
  /** The field of all files of a form. Default: `image`, and `image[]` for several. */
  readonly files?: string;
  /**
   * False if the gateway downloads the images behind links. A server of one's own must not open links of clients: it may reach
   * hosts that they do not. Default true.
   */
  readonly opensLinks?: boolean;
  /** The most reference images. Default: no limit besides that of the model. */
  readonly maxReferences?: number;
  /** The path of a request with reference images. Default: of JSON that of generations, of a form `/images/edits`. */
  readonly referencesPath?: string;
  /** The path of a form with one image and its `mask`. Absent: it takes no mask. */
  readonly maskPath?: string;
  /** Fields of OpenAI's clients that the service does not know. They are not sent. */
  readonly drops: readonly string[];
  /** What is different in responses. */
  readonly response?: Partial<ResponseShape>;
  /** The member of an item that is `false` if the moderation of the service holds the image back. */
  readonly safe?: string;
  /** False if the images are not in `data`, or never base64: responses are then read as a whole. Default true. */
  readonly isRelayed?: boolean;
  /** True if it takes `stream` and `partial_images`. Default false. */
  readonly streams?: boolean;
  readonly requestIdHeader?: string;
  /**
   * The top-level member with what the provider charges, in a unit that has this many decimal places below a dollar. Clients do
   * not get it, so responses are not relayed while they arrive.
   */
  readonly cost?: { readonly name: string; readonly places: number };
  readonly codes: Codes;
}

/** A dialect that reads all responses itself. */
export type ServiceDialect = Partial<Dialect> & Pick<Dialect, "fromUpstream" | "toFailure">;

/**
 * Creates the dialect of a service. It reports no tokens and does not stream; a dialect for which that is different replaces
 * these members.
 */
export function createService(service: Service): ServiceDialect {
  const { baseUrl, defaultPath, authorize, delivers, requestIdHeader, safe, cost, response, codes } = service;
  const shape = createShape(codes, {
    readUsage: () => undefined,
    readItem: (item, index) => readSafeItem(item, index, safe),
    ...(cost !== undefined && { usage: cost.name, readUsage: (value) => readDollars(value, cost.places) }),
    ...response,
  });
  const fromUpstream = createResponseReader(shape);
  return {
    defaultBaseUrl: baseUrl,
    ...(authorize !== undefined && { authorize }),
    ...(defaultPath !== undefined && { defaultPath }),
    ...(requestIdHeader !== undefined && { requestIdHeader }),
    delivers,
    reportsTokens: false,
    reportsCost: cost !== undefined,
    needsImageBytes: (request) =>
      isForm(service, request) || (service.opensLinks === false && request.images.some(isLink)),
    toUpstream: (request, model) => toService(service, request, model),
    fromUpstream: (body, request) => {
      const result = fromUpstream(body, request);
      const fields = cost === undefined ? result.fields : omitMembers(result.fields, [cost.name]);
      return { ...result, fields, failure: result.failure ?? findModeration(result) };
    },
    responseShape: service.isRelayed === false || cost !== undefined ? undefined : shape,
    readStream: undefined,
    streamShape: undefined,
    toFailure: createFailureReader(codes),
  };
}

function readDollars(value: unknown, places: number): Usage | undefined {
  const dollars = readCost(value, places);
  return dollars === undefined ? undefined : { cost_usd: dollars };
}

const MODERATED = {
  code: "content_moderated",
  message: "The image was held back by the moderation of the provider.",
};

function readSafeItem(item: unknown, index: number, safe: string | undefined): "image" | ResultError {
  const read = readItem(item, index);
  const isHeldBack = safe !== undefined && isJsonObject(item) && item[safe] === false;
  return read !== "image" && isHeldBack ? { index, ...MODERATED } : read;
}

/** If all images were held back, the content was refused. */
function findModeration({ images, errors }: ImageResult): ReportedFailure | undefined {
  const isAll = images.length === 0 && errors.some(({ code }) => code === MODERATED.code);
  return isAll ? { ...MODERATED, kind: "content" } : undefined;
}

function isForm({ references, maskPath }: Service, { images, mask }: ImageRequest): boolean {
  return images.length > 0 && (references === "form" || (mask !== undefined && maskPath !== undefined));
}

function toService(service: Service, request: ImageRequest, model: string): UpstreamCall {
  checkRequest(service, request);
  const { path = PATHS.generations, references, files } = service;
  const isInPath = typeof path === "function";
  const ownPath = isInPath ? path(model) : path;
  const fields = { ...(!isInPath && { model }), ...toFields(service, request) };
  const { images } = request;
  if (isForm(service, request)) {
    const formPath = service.maskPath ?? service.referencesPath ?? (isInPath ? ownPath : PATHS.edits);
    return toFormEdit({ ...request, upstreamFields: fields }, { path: formPath, files });
  }
  const isEdit = images.length > 0 && typeof references === "function";
  const json = { ...fields, ...(isEdit && references(images, fields)) };
  return { path: isEdit ? (service.referencesPath ?? ownPath) : ownPath, body: { json } };
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
  const { size: sizeField = "size", count = "n", renames = {}, responseFormats, streams } = service;
  const { size, n, ...others } = upstreamFields;
  const drops = streams === true ? service.drops : [...service.drops, "stream", "partial_images"];
  const kept = Object.entries(others).filter(
    ([name, value]) => !drops.includes(name) && !(AUTO_FIELDS.has(name) && value === "auto"),
  );
  return {
    ...Object.fromEntries(kept.map(([name, value]) => [renames[name] ?? name, value])),
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
