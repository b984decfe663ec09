import { invalidRequest, overloaded } from "../errors.js";
import type { GatewayRequest } from "../http.js";
import { writeDataUrls } from "../images/data-url.js";
import type { RequestSpool } from "../images/spool.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import type { Caller, ImageRequest, Operation, Preferences } from "../types.js";
import type { JsonObject } from "../util/json.js";
import { type ArrivingBytes, type BodyGuard, type BodyPace } from "./body.js";
import { convertFormFields } from "./form-fields.js";
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
  readonly limits: BodyLimits;
  /** Counts the bytes of the request and stores the files of its form. */
  readonly slot: { readonly bytes: ArrivingBytes; readonly spool: RequestSpool };
  /** Calls a function repeatedly, to measure the speed of the body. */
  readonly repeat: BodyPace["repeat"];
}

/** The fields of a request. */
export interface ReadFields {
  readonly fields: JsonObject;
  /** True if the fields came in a form: then all of them but the images are strings. */
  readonly isForm: boolean;
}

/**
 * Reads the fields of a request from JSON or, at the edits endpoint, from JSON or a form whose files become images. The
 * bytes count as they arrive.
 *
 * @throws GatewayError `unsupported_media_type` for any other content type
 */
export async function readFields(
  request: GatewayRequest,
  { operation, limits, slot, repeat }: ReadFieldsContext,
): Promise<ReadFields> {
  const { minBytesPerSecond, slowAfterSeconds } = limits;
  const pace = { minBytesPerSecond, seconds: slowAfterSeconds, repeat };
  const guard: BodyGuard = { bytes: slot.bytes, pace };
  countParsedBody(request, slot.bytes);
  if (operation !== "edit") return { fields: await readJson(request, limits.json, guard), isForm: false };
  if (isJsonType(request.headers.get("content-type"))) {
    return { fields: toEditFields(await readJson(request, limits.json, guard)), isForm: false };
  }
  return { fields: await readMultipart(request, { limits, spool: slot.spool }, guard), isForm: true };
}

/**
 * Counts a body that the host has read: its bytes if they are in memory, otherwise the length that the request
 * declares.
 */
function countParsedBody({ parsedBody, headers }: GatewayRequest, bytes: ArrivingBytes): void {
  if (parsedBody === undefined) return;
  const isPlain = typeof parsedBody === "string" || parsedBody instanceof Uint8Array;
  const length = isPlain ? parsedBody.length : Number(headers.get("content-length") ?? 0);
  if (length > 0 && !bytes.add(length)) throw overloaded();
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
  const served = { operations: model.operations, nativePath: model.family.nativePath };
  if (!isServed(endpoint, served)) {
    const paths = joinNames(findPaths(served));
    throw invalidRequest(`The model ${model.name} is served at ${paths} only.`, "model");
  }
  const { responseFormat, streamFormat, sizes } = findPreferences({
    caller,
    model: model.preferences,
    gateway: context.preferences,
  });
  const typed = context.isForm ? convertFormFields(fields, model.family.formFields ?? {}) : fields;
  const { model: _model, ...rest } = typed;
  const known = operation === "native" ? rest : withoutNulls(rest);
  const format = operation === "native" ? "native" : streamFormat;
  const request = model.family.normalize(
    model.family.takesImageBytes === true ? known : writeDataUrls(known),
    {
      operation,
      model: model.name,
      upstreamModels: model.upstreamModels,
      capabilities: model.capabilities,
      defaultResponseFormat: responseFormat,
      streamFormat: format,
      sizes: operation === "native" ? "strict" : sizes,
      maxUpstreamCalls: model.maxUpstreamCalls,
    },
  );
  // Also without `stream`, because a provider may send events that were not requested.
  return format === "openai" ? { ...request, streamFormat: format } : request;
}

/** Writes `a, b and c`. */
function joinNames(names: readonly string[]): string {
  return names.join(", ").replace(/, ([^,]*)$/, " and $1");
}

/** Returns the same object if no field is null. */
function withoutNulls(fields: JsonObject): JsonObject {
  if (!Object.values(fields).includes(null)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
