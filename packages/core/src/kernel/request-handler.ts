import type { Cors } from "../contract/cors.js";
import { GatewayError, unavailable } from "../errors.js";
import { type Arrival, createArrival, type ReportParts, RequestReport, reportRefusal } from "../events.js";
import type { Family } from "../families/family.js";
import type { GatewayRequest, GatewayResponse } from "../http.js";
import { createRouteMatcher, type Endpoint, type GatewayRoute, listEndpoints } from "../request/route.js";
import { renderError } from "../responses/envelope.js";
import { closedError, type Maintenance, type Tracker } from "./lifecycle.js";
import { holdHost, type PipelineParts, runPipeline } from "./pipeline.js";
import type { Reloadable } from "./reloadable.js";
import type { RouteHost } from "./route-host.js";

/** What the request handler needs of a gateway, with the options of the moment. */
interface HandlerAssembly<Parts extends PipelineParts> {
  readonly permanent: Pick<PipelineParts, "createId"> & ReportParts;
  readonly reloadable: Pick<Reloadable<Parts>, "current" | "get">;
  readonly tracker: Pick<Tracker, "track">;
  readonly maintenance: Pick<Maintenance, "start">;
}

/** What {@link createRequestHandler} needs. */
export interface RequestHandlerParts<Parts extends PipelineParts> {
  readonly assembly: HandlerAssembly<Parts>;
  readonly basePath: string;
  /** Their endpoints are served. */
  readonly families: readonly Family[];
  /** `undefined`: pages of other origins may read nothing. */
  readonly cors: Cors | undefined;
  /** Creates the routes of the features. */
  readonly createRoutes: (host: RouteHost<Parts>) => readonly GatewayRoute[];
  /** Describes a path that is not served. */
  readonly describeUnserved: (request: NamedRequest) => string;
  /** Whether `close` was called. Every request is refused then. */
  readonly isClosing: () => boolean;
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
export function createRequestHandler<Parts extends PipelineParts>({
  assembly,
  basePath,
  families,
  cors,
  createRoutes,
  describeUnserved,
  isClosing,
}: RequestHandlerParts<Parts>): RequestHandler {
  const { permanent, reloadable, tracker, maintenance } = assembly;
  const render = (error: GatewayError, id = permanent.createId()): GatewayResponse =>
    renderError(error, { id, redact: currentRedaction(assembly) });
  const toNotFound = (request: NamedRequest): GatewayError =>
    new GatewayError("not_found", describeUnserved(request));
  const addCors: Cors["addHeaders"] = (request, response) =>
    cors === undefined ? response : cors.addHeaders(request, response);
  const notFound: RequestHandler["notFound"] = (request) => addCors(request, render(toNotFound(request)));

  /** Refuses a request for a path of the gateway that makes no images. */
  const refuseEarly = (
    error: GatewayError,
    request: GatewayRequest,
    id = permanent.createId(),
  ): GatewayResponse => render(reportRefusal(permanent, error, { id, request }), id);

  const respond = (endpoint: Endpoint, request: GatewayRequest): Promise<GatewayResponse> => {
    if (isClosing()) {
      return Promise.resolve(refuse(assembly, closedError(), { endpoint, request }));
    }
    maintenance.start();
    const { current } = reloadable;
    const response = current
      ? runPipeline(current, endpoint, request)
      : runWhenLoaded(assembly, endpoint, request);
    tracker.track(response);
    holdHost(request, response, permanent.logger);
    return response;
  };

  const matchRoute = createRouteMatcher(
    basePath,
    listEndpoints(families),
    createRoutes({
      async respond(request, respondTo) {
        if (isClosing()) return refuseEarly(closedError(), request);
        return respondTo(permanent.createId());
      },
      async respondWithOptions(request, respondTo) {
        if (isClosing()) return refuseEarly(closedError(), request);
        const id = permanent.createId();
        const { current } = reloadable;
        const parts = current ?? (await loadParts(assembly, id));
        return parts === undefined ? refuseEarly(unreadError(), request, id) : respondTo(parts, id);
      },
      start() {
        if (!isClosing()) maintenance.start();
      },
      track: (response) => tracker.track(response),
      notFound,
    }),
  );

  const handle: RequestHandler["handle"] = (request) => {
    const { url, mountPath } = request;
    const announced = cors?.readPreflight(request);
    const route = matchRoute({ method: announced ?? request.method, url, mountPath });
    if (route === undefined) return null;
    if (cors !== undefined && announced !== undefined)
      return Promise.resolve(cors.allowPreflight(request, permanent.createId()));
    if (route === "unserved") {
      return Promise.resolve(addCors(request, refuseEarly(toNotFound(request), request)));
    }
    const responds =
      "operation" in route ? respond(route, request) : route.route.respond(request, route.groups);
    return cors?.concerns(request) === true
      ? responds.then((responded) => cors.addHeaders(request, responded))
      : responds;
  };

  return { handle, notFound };
}

/** Waits for the options that take time to load, and then handles the request. */
async function runWhenLoaded(
  assembly: HandlerAssembly<PipelineParts>,
  endpoint: Endpoint,
  request: GatewayRequest,
): Promise<GatewayResponse> {
  const arrival = createArrival(assembly.permanent, endpoint.operation);
  const parts = await loadParts(assembly, arrival.id);
  return parts === undefined
    ? refuse(assembly, unreadError(), { endpoint, request, arrival })
    : runPipeline(parts, endpoint, request);
}

/** Returns `undefined` if the options cannot be loaded. */
async function loadParts<Parts extends PipelineParts>(
  { permanent, reloadable }: HandlerAssembly<Parts>,
  requestId: string,
): Promise<Parts | undefined> {
  try {
    return await reloadable.get();
  } catch (error) {
    permanent.logger.error({ requestId, err: error }, "The options could not be read.");
    return undefined;
  }
}

/** Responds to a request that does not enter the pipeline. */
function refuse(
  assembly: HandlerAssembly<PipelineParts>,
  error: GatewayError,
  {
    endpoint,
    request,
    arrival = createArrival(assembly.permanent, endpoint.operation),
  }: { readonly endpoint: Endpoint; readonly request: GatewayRequest; readonly arrival?: Arrival },
): GatewayResponse {
  const report = new RequestReport(assembly.permanent, arrival);
  const context = { id: arrival.id, redact: currentRedaction(assembly), endpoint };
  const response = renderError(report.refused(error, request), context);
  report.responded(response);
  return response;
}

function currentRedaction({ reloadable }: HandlerAssembly<PipelineParts>): (text: string) => string {
  return reloadable.current?.redactKeys ?? String;
}

function unreadError(): GatewayError {
  return unavailable("This server cannot read its options at the moment: try again.");
}
