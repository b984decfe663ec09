import type { GatewayRequest, GatewayResponse } from "../http.js";

/** What a route needs of the gateway. No function rejects. */
export interface RouteHost<Options> {
  /** Responds to a request that needs no options. A gateway that has closed refuses it. `respond` gets the request's id. */
  readonly respond: (
    request: GatewayRequest,
    respond: (id: string) => Promise<GatewayResponse>,
  ) => Promise<GatewayResponse>;
  /** Responds with the options that are in effect. The response is a 503 if they cannot be read. */
  readonly respondWithOptions: (
    request: GatewayRequest,
    respond: (options: Options, id: string) => Promise<GatewayResponse>,
  ) => Promise<GatewayResponse>;
  /** Begins what the gateway does in the background. Call it for requests that read or change what is stored. */
  readonly start: () => void;
  /** Keeps `gateway.close()` waiting until there is a response. */
  readonly track: (response: Promise<GatewayResponse>) => void;
  /** The 404 for a path that no route serves. */
  readonly notFound: (request: GatewayRequest) => GatewayResponse;
}
