import type { GatewayRequest, GatewayResponse } from "../http.js";
import type { JsonObject } from "../util/json.js";

/** What a route needs of the gateway. No function but `readJson` rejects. */
export interface RouteHost<Options> {
  /**
   * Responds to a request that needs no options. A gateway that has closed refuses it. `respond` gets the request's id. If it
   * rejects, the response is the error in the error envelope.
   */
  readonly respond: (
    request: GatewayRequest,
    respond: (id: string) => Promise<GatewayResponse>,
  ) => Promise<GatewayResponse>;
  /** The same, with the options that are in effect. The response is a 503 if they cannot be read. */
  readonly respondWithOptions: (
    request: GatewayRequest,
    respond: (options: Options, id: string) => Promise<GatewayResponse>,
  ) => Promise<GatewayResponse>;
  /**
   * Reads the JSON object in a request's body, within `bodyLimits` and the limit of bytes in flight. It is read once.
   *
   * @param callerId whose share of the bytes in flight is used
   * @throws GatewayError for a body that is too large, too slow or not a JSON object
   */
  readonly readJson: (request: GatewayRequest, callerId: string) => Promise<JsonObject>;
  /**
   * Responds to another request as the gateway does, for a route that converts one interface to another. `null` for a path that
   * is not the gateway's.
   */
  readonly handle: (request: GatewayRequest) => Promise<GatewayResponse> | null;
  /** Begins what the gateway does in the background. Call it for requests that read or change what is stored. */
  readonly start: () => void;
  /** Keeps `gateway.close()` waiting until there is a response. */
  readonly track: (response: Promise<GatewayResponse>) => void;
  /** The 404 for a path that no route serves. */
  readonly notFound: (request: GatewayRequest) => GatewayResponse;
}
