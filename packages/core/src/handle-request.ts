import { GatewayError } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import type { Operation } from "./image-request.js";
import { holdHost, runPipeline } from "./pipeline.js";
import type { RouteMatcher } from "./request/route.js";
import { type Arrival, createArrival, createRequestReport } from "./request-report.js";
import { exposeHeaders } from "./response/expose-headers.js";
import type { Wiring } from "./wire-gateway.js";

/** Responds to requests for the gateway's paths, until the gateway is closing. */
export function createRequestHandler(
  { lasting, wired, underWay, maintenance }: Wiring,
  { matchRoute, notFound }: { readonly matchRoute: RouteMatcher; readonly notFound: Gateway["notFound"] },
  isClosing: () => boolean,
): Gateway["handle"] {
  /** Responds to a request that does not enter the pipeline. */
  const fail = (error: GatewayError, arrival: Arrival): GatewayResponse => {
    const report = createRequestReport({ ...lasting, maskKeys: wired.current?.maskKeys ?? String }, arrival);
    const response = report.fail(error);
    report.answered(response);
    return response;
  };

  /** For options that take time to read: a request waits for them. */
  const runWhenRead = async (operation: Operation, request: GatewayRequest): Promise<GatewayResponse> => {
    const arrival = createArrival(lasting, operation);
    try {
      return await runPipeline(await wired.get(), operation, request);
    } catch (error) {
      lasting.logger.error({ requestId: arrival.id, err: error }, "The options could not be read.");
      return fail(unreadError(), arrival);
    }
  };

  const respond = (operation: Operation, request: GatewayRequest): Promise<GatewayResponse> => {
    if (isClosing()) return Promise.resolve(fail(closedError(), createArrival(lasting, operation)));
    maintenance.start();
    const { current } = wired;
    const answer = current ? runPipeline(current, operation, request) : runWhenRead(operation, request);
    underWay.track(answer);
    holdHost(request, answer, lasting.logger);
    return answer;
  };

  return (request) => {
    const route = matchRoute(request);
    if (route === undefined) return null;
    if (route === "unserved") return Promise.resolve(notFound(request));
    const response = respond(route, request);
    // Requests without an origin skip this, so that they do not wait for one more promise.
    if (request.headers.get("origin") === null) return response;
    return response.then((sent) => exposeHeaders(request, sent));
  };
}

/** The answer of a gateway that takes no more. */
export function closedError(): GatewayError {
  return new GatewayError("gateway_closed", "This server is shutting down.", { retryAfterSeconds: 1 });
}

function unreadError(): GatewayError {
  return new GatewayError(
    "gateway_unavailable",
    "This server cannot read its options at the moment: try again.",
    {
      retryAfterSeconds: 5,
    },
  );
}
