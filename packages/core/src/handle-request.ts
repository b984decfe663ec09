import { GatewayError } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import type { Operation } from "./image-request.js";
import { holdHost, runPipeline } from "./pipeline.js";
import type { RouteMatcher } from "./request/match-route.js";
import { type Arrival, createArrival, createRequestReport } from "./request-report.js";
import type { Wiring } from "./wire-gateway.js";

/** What answers requests to the gateway's paths, until it is closing. */
export function createRequestHandler(
  { lasting, wired, underWay, maintenance }: Wiring,
  matchRoute: RouteMatcher,
  isClosing: () => boolean,
): Gateway["handle"] {
  /** The answer to a request that no pipeline runs. */
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

  return (request) => {
    const operation = matchRoute(request.url);
    if (operation === undefined) return null;
    if (isClosing()) return Promise.resolve(fail(closedError(), createArrival(lasting, operation)));
    maintenance.start();
    const { current } = wired;
    const answer = current ? runPipeline(current, operation, request) : runWhenRead(operation, request);
    underWay.track(answer);
    holdHost(request, answer, lasting.logger);
    return answer;
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
