import type { GatewayRequest, GatewayResponse } from "../http.js";

/** Requests that a browser sends for a web page of another origin (Fetch standard, CORS protocol). */
export interface Cors {
  /** The origins that the option names. None with `"*"`. */
  readonly origins: ReadonlySet<string>;
  /**
   * Returns the method that a preflight request announces. `undefined` for any other request, without the option `cors`,
   * and for an origin that is not allowed: such a request is treated like any other.
   */
  readPreflight(request: Pick<GatewayRequest, "method" | "headers">): string | undefined;
  /** Returns the response to a preflight request of an allowed origin. It needs no API key. */
  allowPreflight(request: Pick<GatewayRequest, "headers" | "findUser">, requestId: string): GatewayResponse;
  /** False if the response to a request gets no headers: there is no option `cors`, and no page sent the request. */
  concerns(request: Pick<GatewayRequest, "headers">): boolean;
  /** Adds the headers with which a web page may read the response. */
  addHeaders(
    request: Pick<GatewayRequest, "headers" | "findUser">,
    response: GatewayResponse,
  ): GatewayResponse;
}
