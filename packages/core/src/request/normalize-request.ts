import { writeDataUrls } from "../data-url-image.js";
import { invalidRequest } from "../errors.js";
import type { Caller, ImageRequest, Operation, ResponseFormat } from "../image-request.js";
import type { JsonObject } from "../json.js";
import type { ResolvedModel } from "../models/resolve-model.js";
import { pathOfOperation } from "./match-route.js";

/** What a body is read with. */
export interface RequestContext {
  readonly operation: Operation;
  readonly model: ResolvedModel;
  readonly caller: Caller;
  /** The gateway's default response format. */
  readonly responseFormat: ResponseFormat | undefined;
}

/**
 * A body as its model's family understands it. On `/v1` a field that is `null` counts as absent.
 *
 * @throws GatewayError `invalid_request_error`
 */
export function normalizeRequest(body: JsonObject, context: RequestContext): ImageRequest {
  const { operation, model, caller } = context;
  if (!model.family.operations.has(operation)) {
    const paths = [...model.family.operations].map(pathOfOperation).join(" and ");
    throw invalidRequest(`The model ${model.name} is served at ${paths} only.`, "model");
  }
  const forwardsNull = operation === "native";
  const { model: _model, ...rest } = body;
  const fields = forwardsNull ? rest : withoutNulls(rest);
  const readable = model.family.takesImageBytes === true ? fields : writeDataUrls(fields);
  return model.family.normalize(readable, {
    operation,
    model: model.name,
    upstreamModels: model.upstreamModels,
    limits: model.limits,
    defaultResponseFormat: caller.responseFormat ?? model.responseFormat ?? context.responseFormat,
  });
}

/** The same object where it has none. */
function withoutNulls(fields: JsonObject): JsonObject {
  if (!Object.values(fields).includes(null)) return fields;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
