import { invalidRequest } from "../errors.js";
import type { NormalizeContext } from "../families/family.js";
import type { GatewayRequest } from "../http.js";
import { writeDataUrls } from "../images/data-url.js";
import type { RequestSpool } from "../images/spool.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { Caller, ImageRequest, Operation, Preferences, ResponseFormat } from "../types.js";
import type { JsonObject } from "../util/json.js";
import { type BodyGuard, type BodyPace, noRoom, type RequestBytes } from "./body.js";
import { checkLinks } from "./check-links.js";
import { convertFormFields } from "./form-fields.js";
import { readImageFields } from "./image-fields.js";
import { isJsonType, readJson } from "./json.js";
import { toEditFields } from "./json-edit.js";
import { readMultipart } from "./multipart.js";
import { findPreferences } from "./preferences.js";
import { type Endpoint, findPaths, isServed } from "./route.js";

/** The maximum size and the minimum speed of a request's body. */
export interface BodyLimits {
  /** JSON bodies, data URLs included. Default 64 MiB. */
  readonly json: number;
  /** A multipart form, files included. Default 64 MiB. */
  readonly form: number;
  /** One file of a form. Default 30 MiB. */
  readonly file: number;
  /** In bytes per second. A body that is slower over `slowAfterSeconds` gets a 408. Default 1,024. */
  readonly minBytesPerSecond: number;
  /** How long a body may be slower than `minBytesPerSecond`, or send nothing, in seconds. Default 20. */
  readonly slowAfterSeconds: number;
}

/** What {@link readFields} needs besides the request. */
export interface ReadFieldsContext {
  readonly operation: Operation;
  /** Whether the fields come in a form, see {@link readsForm}. */
  readonly isForm: boolean;
  readonly limits: BodyLimits;
  /** Counts the bytes of the request and stores the files of its form. */
  readonly slot: { readonly bytes: RequestBytes; readonly spool: RequestSpool };
  /** Measures the speed of the body. */
  readonly everySecond: BodyPace["everySecond"];
}

/** True if the fields come in a form: then all of them but the images are strings. */
export function readsForm(operation: Operation, headers: GatewayRequest["headers"]): boolean {
  return operation === "edit" && !isJsonType(headers.get("content-type"));
}

/**
 * Reads the fields of a request from JSON or, at the edits endpoint, from JSON or a form whose files become images. The
 * bytes count as they arrive.
 *
 * @throws GatewayError `unsupported_media_type` for any other content type
 */
export function readFields(
  request: GatewayRequest,
  { operation, isForm, limits, slot, everySecond }: ReadFieldsContext,
): Promise<JsonObject> {
  const { minBytesPerSecond, slowAfterSeconds } = limits;
  const pace = { minBytesPerSecond, seconds: slowAfterSeconds, everySecond };
  const guard: BodyGuard = { bytes: slot.bytes, pace };
  countParsedBody(request, slot.bytes);
  if (isForm) return readMultipart(request, { limits, spool: slot.spool }, guard);
  const fields = readJson(request, limits.json, guard);
  return operation === "edit" ? fields.then(toEditFields) : fields;
}

/**
 * Counts a body that the host has read: its bytes if they are in memory, otherwise the length that the request
 * declares.
 */
function countParsedBody({ parsedBody, headers }: GatewayRequest, bytes: RequestBytes): void {
  if (parsedBody === undefined) return;
  const isPlain = typeof parsedBody === "string" || parsedBody instanceof Uint8Array;
  const length = isPlain ? parsedBody.length : Number(headers.get("content-length") ?? 0);
  if (length > 0 && !bytes.add(length)) throw noRoom(bytes, length);
}

/** What {@link normalizeRequest} needs besides the fields. */
export interface RequestContext {
  readonly endpoint: Endpoint;
  /** True if the fields came in a form: then its strings become values of the types that the family names. */
  readonly isForm: boolean;
  readonly model: ResolvedModel;
  readonly caller: Caller;
  /** The preferences of the gateway. */
  readonly preferences: Preferences;
  /** True if the gateway stores the images of results, and can so make links of base64. */
  readonly storesResults: boolean;
  /** True for a task whose result could not be kept if it had base64. Default `false`. */
  readonly linksOnly?: boolean | undefined;
}

/**
 * Checks the fields of a request and converts them to those of the model's family. On `/v1` a field that is `null`
 * counts as absent.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function normalizeRequest(fields: JsonObject, context: RequestContext): ImageRequest {
  const { endpoint, model, caller } = context;
  const { operation } = endpoint;
  const { family } = model;
  if (!isServed(endpoint, model)) {
    const paths = joinNames(findPaths(model));
    throw invalidRequest(`The model ${model.name} is served at ${paths} only.`, "model");
  }
  const preferences = findPreferences({ caller, model: model.preferences, gateway: context.preferences });
  const isNative = operation === "native";
  const { model: _model, ...rest } = context.isForm ? convertFormFields(fields, family.fields ?? {}) : fields;
  const known = isNative ? rest : readImageFields(withoutNulls(rest), family.fields ?? {}, operation);
  checkLinks(known, model.channels);
  const streamFormat = isNative ? "native" : preferences.streamFormat;
  const formats = findFormats(known, context, preferences.responseFormat);
  const request = family.normalize(family.takesImageBytes === true ? known : writeDataUrls(known), {
    operation,
    model: model.name,
    upstreamModels: model.upstreamModels,
    dialects: model.dialects,
    capabilities: model.capabilities,
    ...formats,
    streamFormat,
    sizes: isNative ? "strict" : preferences.sizes,
    maxUpstreamCalls: model.maxUpstreamCalls,
  });
  const wantsLinks = known["response_format"] === "url" || context.linksOnly === true;
  // Only if it matters, so that most requests have no such mark.
  const needsLinks =
    wantsLinks &&
    !isNative &&
    !context.storesResults &&
    model.channels.some(({ dialect }) => !dialect.delivers.includes("url"));
  if (!needsLinks && streamFormat !== "openai") return request;
  return {
    ...request,
    ...(needsLinks && { needsLinks }),
    // Also without `stream`, because a provider may send events that were not requested.
    ...(streamFormat === "openai" && { streamFormat }),
  };
}

/**
 * The response formats for a request that names none. Links can be delivered if there is a results store, or if a channel of
 * the model delivers them. Base64 can always be made from links. If only links will do, preferences for base64 give way:
 * the client did not name it.
 *
 * @throws GatewayError `invalid_request_error` if the request names a format that cannot be delivered
 */
function findFormats(
  fields: JsonObject,
  { endpoint, model: { name, channels }, storesResults, linksOnly = false }: RequestContext,
  preferred: ResponseFormat | undefined,
): Pick<NormalizeContext, "defaultResponseFormat" | "ownResponseFormat"> {
  const ownResponseFormat = channels[0]?.dialect.delivers[0];
  const hasLinks = storesResults || channels.some(({ dialect }) => dialect.delivers.includes("url"));
  const named = fields["response_format"];
  if (linksOnly) {
    if (!hasLinks) throw invalidRequest(`The provider of ${name} delivers no links. ${NO_BASE64}`, "model");
    if (named === "b64_json") throw invalidRequest(`${NO_BASE64} Send "url".`, "response_format");
    const isLink = preferred !== "b64_json" && ownResponseFormat !== "b64_json";
    return { defaultResponseFormat: isLink ? preferred : "url", ownResponseFormat };
  }
  if (hasLinks || endpoint.operation === "native")
    return { defaultResponseFormat: preferred, ownResponseFormat };
  if (named === "url") {
    const message = `The provider of ${name} delivers no links: send "b64_json", or leave response_format out.`;
    throw invalidRequest(message, "response_format");
  }
  return { defaultResponseFormat: preferred === "url" ? undefined : preferred, ownResponseFormat };
}

const NO_BASE64 =
  "With Prefer: respond-async this server cannot return base64, because it has nowhere to keep it.";

/** Writes `a, b and c`. */
function joinNames(names: readonly string[]): string {
  return names.join(", ").replace(/, ([^,]*)$/, " and $1");
}

/** Returns the same object if no field is null. */
function withoutNulls(fields: JsonObject): JsonObject {
  if (!Object.values(fields).includes(null)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
