import { type Charge, toRequestBounds } from "../../billing/charge.js";
import { DEFAULT_GROUP } from "../../billing/model-details.js";
import type { GatewayRequest } from "../../http.js";
import type { Configured, Feature } from "../../kernel/feature.js";
import { normalizeFields } from "../../kernel/normalize-fields.js";
import { toEditFields } from "../../request/json-edit.js";
import type { Endpoint } from "../../request/route.js";
import type { Operation } from "../../types.js";
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

/** What requests would be charged. */
export function estimates(): Feature<EstimatesApi> {
  return {
    name: "estimates",
    setup: ({ load }) => ({
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
  const asked = { endpoint: ENDPOINTS[operation], caller, fields: read, isForm: false };
  const { model, request: images } = normalizeFields(parts, asked);
  const price = parts.prices?.find(model.name, caller.group ?? DEFAULT_GROUP);
  return {
    model: model.name,
    maxImages: images.maxImages,
    charge: price?.estimate(toRequestBounds(images)) ?? null,
    ...(images.replacedSize !== undefined && { size: images.replacedSize }),
    ignored: images.ignored,
  };
}
