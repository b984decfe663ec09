import type { RequestReport } from "../events.js";
import type { ModelResolver, ResolvedModel } from "../models/resolve-model.js";
import { normalizeRequest } from "../request/read-request.js";
import type { Endpoint } from "../request/route.js";
import type { ImageStage } from "../responses/image-stage.js";
import type { Caller, ImageRequest, Preferences } from "../types.js";
import type { ImageMarking } from "../upstream/image-marks.js";
import type { JsonObject } from "../util/json.js";

/** What {@link normalizeFields} needs of the gateway. */
export interface NormalizeParts {
  readonly resolveModel: ModelResolver;
  /** The preferences of the gateway. */
  readonly preferences: Preferences;
  /** Makes links of base64. `undefined`: there are only the links of providers. */
  readonly images: ImageStage | undefined;
  /** `undefined`: images are not marked. */
  readonly marks?: ImageMarking | undefined;
}

/** The fields of a request, of a task, or of a request whose charge is estimated. */
export interface FieldsToNormalize {
  readonly endpoint: Endpoint;
  readonly caller: Caller;
  readonly fields: JsonObject;
  /** True if the fields came in a form. */
  readonly isForm: boolean;
  /** True if a result with base64 could not be kept. */
  readonly linksOnly?: boolean | undefined;
  /** Learns of the model. */
  readonly report?: RequestReport | undefined;
}

/**
 * Finds the model of a request, and checks its fields.
 *
 * @throws GatewayError if the model is not served for this caller, or a field is wrong
 */
export function normalizeFields(
  { resolveModel, preferences, images, marks }: NormalizeParts,
  { endpoint, caller, fields, isForm, linksOnly, report }: FieldsToNormalize,
): { readonly model: ResolvedModel; readonly request: ImageRequest } {
  const model = resolveModel(fields["model"], caller, endpoint.operation);
  report?.setModel(model.name, model.entry);
  const storesResults = images !== undefined;
  const context = { endpoint, isForm, model, caller, preferences, storesResults, linksOnly };
  const request = normalizeRequest(fields, context);
  marks?.check(request);
  return { model, request };
}
