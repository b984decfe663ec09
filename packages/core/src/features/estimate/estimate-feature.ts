import { type Charge, toRequestBounds } from "../../billing/charge.js";
import { DEFAULT_GROUP } from "../../billing/model-details.js";
import { reportRefusal } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { Configured, Feature } from "../../kernel/feature.js";
import { normalizeFields } from "../../kernel/normalize-fields.js";
import type { RouteHost } from "../../kernel/route-host.js";
import { toEditFields } from "../../request/json-edit.js";
import { readFields } from "../../request/read-request.js";
import { checkMethod, type Endpoint, type GatewayRoute } from "../../request/route.js";
import { renderError, toResponseHeaders } from "../../responses/envelope.js";
import type { Caller, Operation } from "../../types.js";
import type { JsonObject } from "../../util/json.js";

/** A request whose charge is asked for. */
export interface EstimateQuery {
  /** Of `/v1/images/generations` or `/v1/images/edits`. */
  readonly operation: Exclude<Operation, "native">;
  /** The fields of the JSON body. The images of an edit may be any links, because they are not loaded. */
  readonly fields: JsonObject;
}

/** What a request would be charged, and what it would make. */
export interface RequestEstimate {
  /** The service model. */
  readonly model: string;
  /** The most images that the request can make. */
  readonly maxImages: number;
  /** The most that the request can be charged. `null` without the option `billing`. */
  readonly charge: Charge | null;
  /** The size that the provider would get in place of the size of the request. Absent: the size is not replaced. */
  readonly size?: string;
  /** Known fields that would have no effect. */
  readonly ignored: readonly string[];
}

const ENDPOINTS: Readonly<Record<EstimateQuery["operation"], Endpoint>> = {
  generate: { operation: "generate", path: "/v1/images/generations" },
  edit: { operation: "edit", path: "/v1/images/edits" },
};

/** What {@link estimates} adds to a gateway. */
export interface EstimatesApi {
  /**
   * Returns what a request would be charged at most, and its size as the provider would get it. Nothing is sent, held or
   * counted.
   *
   * @param request of the request only the API key or the `caller`, and the `preferences` are used
   * @throws GatewayError as the request itself would: `invalid_api_key`, `model_not_found`, `invalid_request_error` …
   */
  estimate(
    request: Pick<GatewayRequest, "headers" | "caller" | "preferences">,
    asked: EstimateQuery,
  ): Promise<RequestEstimate>;
}

/** The options of {@link estimates}. */
export interface EstimatesOptions {
  /** Whether callers get the charge of an estimate. Needs `billing`. Default `false`. */
  readonly showPrices?: boolean | undefined;
}

/** What requests would be charged: `gateway.estimate`, and for callers `POST {base}/v1/images/generations/estimate` and `…/edits/estimate`. */
export function estimates(options: EstimatesOptions = {}): Feature<EstimatesApi> {
  return {
    name: "estimates",
    setup: ({ load }) => ({
      routes: (host) => [createEstimateRoute(host, options)],
      api: { estimate: async (request, asked) => estimateRequest(await load(), request, asked) },
    }),
  };
}

/** @throws GatewayError as the request itself would */
async function estimateRequest(
  parts: Configured,
  request: Pick<GatewayRequest, "headers" | "caller" | "preferences">,
  { operation, fields }: EstimateQuery,
): Promise<RequestEstimate> {
  const { headers, caller: named, preferences } = request;
  const caller = await parts.authenticate({ method: "POST", url: "/", headers, caller: named, preferences });
  const read = operation === "edit" ? toEditFields(fields) : fields;
  return estimateFields(parts, { endpoint: ENDPOINTS[operation], caller, fields: read, isForm: false });
}

function estimateFields(parts: Configured, asked: Parameters<typeof normalizeFields>[1]): RequestEstimate {
  const { model, request: images } = normalizeFields(parts, asked);
  const price = parts.prices?.find(model.name, asked.caller.group ?? DEFAULT_GROUP);
  return {
    model: model.name,
    maxImages: images.maxImages,
    charge: price?.estimate(toRequestBounds(images)) ?? null,
    ...(images.replacedSize !== undefined && { size: images.replacedSize }),
    ignored: images.ignored,
  };
}

const ESTIMATE_PATH = /^(.*?)\/v1\/images\/(generations|edits)\/estimate$/;

/** The route of a request's path and `/estimate`, which takes the JSON body of the request. */
function createEstimateRoute(
  { respondWithOptions }: RouteHost<Configured>,
  { showPrices = false }: EstimatesOptions,
): GatewayRoute {
  return {
    pattern: ESTIMATE_PATH,
    respond: (request, [name]) =>
      respondWithOptions(request, async (parts, id) => {
        try {
          const estimate = await readAndEstimate(parts, request, name === "edits" ? "edit" : "generate");
          return respondWithEstimate(estimate, id, showPrices);
        } catch (cause) {
          return renderError(reportRefusal(parts, cause, { id, request }), { id, redact: parts.redactKeys });
        }
      }),
  };
}

/** The body is read within the limits of the request itself. */
async function readAndEstimate(
  parts: Configured,
  request: GatewayRequest,
  operation: EstimateQuery["operation"],
): Promise<RequestEstimate> {
  checkMethod(request, "POST");
  const caller: Caller = await parts.authenticate(request);
  const { bodyLimits: limits, everySecond } = parts;
  const slot = parts.takeSlot(request, { id: caller.id });
  try {
    const fields = await readFields(request, { operation, isForm: false, limits, slot, everySecond });
    return estimateFields(parts, { endpoint: ENDPOINTS[operation], caller, fields, isForm: false });
  } finally {
    slot.release();
  }
}

function respondWithEstimate(estimate: RequestEstimate, id: string, showPrices: boolean): GatewayResponse {
  const { model, maxImages, charge, size, ignored } = estimate;
  const amount = showPrices && charge !== null ? charge.amount : null;
  const body = { model, max_images: maxImages, charge: amount, size, ignored };
  const headers = toResponseHeaders("application/json", { id, ignored: [] });
  return { status: 200, headers, body: JSON.stringify(body) };
}
