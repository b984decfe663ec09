import { GatewayError, unavailable } from "../errors.js";
import { type Arrival, createArrival, RequestReport, reportRefusal } from "../events.js";
import type { Family } from "../families/family.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import type { RelatedOptions } from "../options/options.js";
import { readFields } from "../request/read-request.js";
import { createRouteMatcher, type Endpoint, type GatewayRoute, listEndpoints } from "../request/route.js";
import { renderError } from "../responses/envelope.js";
import type { Configured, Contributed, Kernel, ResponseChange } from "./feature.js";
import { closedError } from "./lifecycle.js";
import { holdHost, runPipeline } from "./pipeline.js";
import type { RouteHost } from "./route-host.js";

/** What {@link createRequestHandler} gets of features. */
export interface HandlerContext<Options extends RelatedOptions> extends Pick<Contributed, "cors" | "asTask"> {
  /** Their endpoints are served. */
  readonly families: readonly Family[];
  /** What they change in responses. */
  readonly changes: readonly ResponseChange[];
  /** Creates the routes of the features. */
  readonly createRoutes: (host: RouteHost<Configured<Options>>) => readonly GatewayRoute[];
  /** Describes a path that is not served. */
  readonly describeUnserved: (request: NamedRequest) => string;
}

/** Responds to the requests for the paths of a gateway. */
export interface RequestHandler {
  /** Returns `null` at once for a path that is not the gateway's, and has read nothing. The promise does not reject. */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** Returns the 404 for a path that no route serves. */
  notFound(request: NamedRequest): GatewayResponse;
}

type NamedRequest = Pick<GatewayRequest, "method" | "url" | "headers">;

/** Connects the paths of a gateway with what responds to them: the pipeline, and the routes of the features. */
export function createRequestHandler<Options extends RelatedOptions>(
  kernel: Kernel<Options>,
  { families, cors, asTask, changes, createRoutes, describeUnserved }: HandlerContext<Options>,
): RequestHandler {
  const { basePath, createId, current, isClosing, start, track } = kernel;
  const render = (error: GatewayError, id = createId()): GatewayResponse =>
    renderError(error, { id, redact: currentRedaction(kernel) });
  const toNotFound = (request: NamedRequest): GatewayError =>
    new GatewayError("not_found", describeUnserved(request));
  const finish: ResponseChange = (request, response) => {
    const changed = changes.reduce((last, change) => {
      try {
        return change(request, last);
      } catch (error) {
        kernel.logger.error({ err: error }, "A feature could not change a response.");
        return last;
      }
    }, response);
    return cors === undefined ? changed : cors.addHeaders(request, changed);
  };
  const notFound: RequestHandler["notFound"] = (request) => finish(request, render(toNotFound(request)));

  /** Refuses a request for a path of the gateway that makes no images. */
  const refuseEarly = (error: unknown, request: GatewayRequest, id = createId()): GatewayResponse =>
    render(reportRefusal(kernel, error, { id, request }), id);

  const respond = (endpoint: Endpoint, request: GatewayRequest): Promise<GatewayResponse> => {
    if (isClosing()) return Promise.resolve(refuse(kernel, closedError(), { endpoint, request }));
    start();
    const configured = current();
    const response = configured
      ? runPipeline(configured, endpoint, request)
      : runWhenLoaded(kernel, endpoint, request);
    track(response);
    holdHost(request, response, kernel.logger);
    return response;
  };

  /** Responds to a request for a route of a feature. */
  const respondToRoute: RouteHost<never>["respond"] = async (request, respondTo) => {
    const id = createId();
    try {
      if (isClosing()) throw closedError();
      return await respondTo(id);
    } catch (error) {
      return refuseEarly(error, request, id);
    }
  };

  const matchRoute = createRouteMatcher(
    basePath,
    listEndpoints(families),
    createRoutes({
      respond: respondToRoute,
      respondWithOptions: (request, respondTo) =>
        respondToRoute(request, async (id) => respondTo(current() ?? (await loadParts(kernel, id)), id)),
      async readJson(request, callerId) {
        const slot = kernel.takeSlot(request, { id: callerId });
        const { bodyLimits: limits, everySecond } = kernel;
        try {
          return await readFields(request, {
            operation: "generate",
            isForm: false,
            limits,
            slot,
            everySecond,
          });
        } finally {
          slot.release();
        }
      },
      handle: (request) => handle(request),
      start,
      track,
      notFound,
    }),
  );

  const handle: RequestHandler["handle"] = (request) => {
    const { url, mountPath } = request;
    const announced = cors?.readPreflight(request);
    const route = matchRoute({ method: announced ?? request.method, url, mountPath });
    if (route === undefined) return null;
    if (cors && announced !== undefined) return Promise.resolve(cors.allowPreflight(request, createId()));
    if (route === "unserved") {
      return Promise.resolve(finish(request, refuseEarly(toNotFound(request), request)));
    }
    const responds =
      "operation" in route
        ? (route.operation === "native" && asTask?.(route, request)) || respond(route, request)
        : route.route.respond(request, route.groups);
    return changes.length > 0 || cors?.concerns(request) === true
      ? responds.then((responded) => finish(request, responded))
      : responds;
  };

  return { handle, notFound };
}

/** Waits for the options that take time to load, and then handles the request. */
async function runWhenLoaded(
  kernel: Kernel,
  endpoint: Endpoint,
  request: GatewayRequest,
): Promise<GatewayResponse> {
  const arrival = createArrival(kernel, endpoint.operation);
  try {
    return await runPipeline(await loadParts(kernel, arrival.id), endpoint, request);
  } catch (error) {
    return refuse(kernel, error, { endpoint, request, arrival });
  }
}

/** @throws GatewayError `gateway_unavailable` if the options cannot be loaded */
async function loadParts<Options extends RelatedOptions>(
  { load, logger }: Pick<Kernel<Options>, "load" | "logger">,
  requestId: string,
): Promise<Configured<Options>> {
  try {
    return await load();
  } catch (error) {
    logger.error({ requestId, err: error }, "The options could not be read.");
    throw unavailable("This server cannot read its options at the moment: try again.");
  }
}

/** Responds to a request that does not enter the pipeline. */
function refuse(
  kernel: Kernel,
  error: unknown,
  {
    endpoint,
    request,
    arrival = createArrival(kernel, endpoint.operation),
  }: { readonly endpoint: Endpoint; readonly request: GatewayRequest; readonly arrival?: Arrival },
): GatewayResponse {
  const report = new RequestReport(kernel, arrival);
  const context = { id: arrival.id, redact: currentRedaction(kernel), endpoint };
  const response = renderError(report.refused(error, request), context);
  report.responded(response);
  return response;
}

function currentRedaction({ current }: Pick<Kernel, "current">): (text: string) => string {
  return current()?.redactKeys ?? String;
}
