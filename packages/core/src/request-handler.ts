import type { GatewayAssembly, GatewayParts } from "./assemble.js";
import { createCors } from "./cors.js";
import { GatewayError } from "./errors.js";
import { type Arrival, createArrival, RequestReport, reportRefusal } from "./events.js";
import { type FilesParts, respondWithFile } from "./files-endpoint.js";
import { type HealthChecks, respondWithHealth } from "./healthz-endpoint.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { closedError } from "./lifecycle.js";
import { respondWithModels } from "./models-endpoint.js";
import { respondWithDescription, respondWithReference } from "./openapi-endpoint.js";
import type { GatewayOptions } from "./options/options.js";
import { holdHost, runPipeline } from "./pipeline.js";
import {
  createRouteMatcher,
  type Endpoint,
  type FilesRoute,
  isTasksPath,
  type ModelsRoute,
  type PageRoute,
  requestPath,
  type TasksRoute,
} from "./request/route.js";
import { renderError } from "./responses/envelope.js";
import { removeBodies } from "./tasks/task-body.js";
import { openResult } from "./tasks/task-result.js";
import { createTaskWatch } from "./tasks/task-watch.js";
import { respondWithTasks, type TasksParts } from "./tasks-endpoint.js";

/** What {@link createRequestHandler} needs. */
export interface RequestHandlerParts {
  readonly assembly: GatewayAssembly;
  readonly options: Pick<GatewayOptions, "basePath" | "openapi" | "healthz" | "reference" | "cors">;
  readonly checks: HealthChecks;
  /** Whether `close` was called. Every request is refused then. */
  readonly isClosing: () => boolean;
}

/** Responds to the requests for the paths of a gateway. */
export interface RequestHandler {
  /** Returns `null` at once for a path that is not the gateway's, and has read nothing. The promise does not reject. */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** Returns the 404 for a path that no route serves. */
  notFound(request: Pick<GatewayRequest, "method" | "url" | "headers">): GatewayResponse;
  /** Ends the responses that wait for a task. */
  close(): void;
}

type NamedRequest = Parameters<RequestHandler["notFound"]>[0];

/** Connects the paths of a gateway with what responds to them: the pipeline, and the endpoints that make no images. */
export function createRequestHandler({
  assembly,
  options,
  checks,
  isClosing,
}: RequestHandlerParts): RequestHandler {
  const { permanent, reloadable, tracker, maintenance } = assembly;
  const basePath = options.basePath ?? "";
  const files = toFilesParts(permanent);
  const tasks = toTasksParts(permanent);
  const description = options.openapi === false ? undefined : options.openapi;
  const matchRoute = createRouteMatcher(basePath, {
    servesFiles: files !== undefined,
    servesTasks: tasks !== undefined,
    pages: [
      ...(options.healthz === true ? (["healthz"] as const) : []),
      ...(description === undefined ? [] : (["openapi"] as const)),
      ...(options.reference === undefined ? [] : (["reference"] as const)),
    ],
  });
  const healthz = { checks, channels: () => reloadable.current?.channels, states: permanent };
  const cors = createCors(options.cors);

  const render = (error: GatewayError, id = permanent.createId()): GatewayResponse =>
    renderError(error, { id, mask: currentMask(assembly) });
  const toNotFound = (request: NamedRequest): GatewayError =>
    notFoundError(request, { basePath, hasTasks: tasks !== undefined });
  const notFound: RequestHandler["notFound"] = (request) =>
    cors.addHeaders(request, render(toNotFound(request)));

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

  /** Responds to a request that makes no images, with the current options. */
  const show = async (
    request: GatewayRequest,
    respondWith: (parts: GatewayParts, id: string) => Promise<GatewayResponse>,
  ): Promise<GatewayResponse> => {
    if (isClosing()) return refuseEarly(closedError(), request);
    const id = permanent.createId();
    const { current } = reloadable;
    const parts = current ?? (await loadParts(assembly, id));
    return parts === undefined ? refuseEarly(unreadError(), request, id) : respondWith(parts, id);
  };

  const showTasks = (route: TasksRoute, request: GatewayRequest): Promise<GatewayResponse> => {
    // The matcher finds tasks only if the ledger keeps them.
    if (tasks === undefined) return Promise.resolve(refuseEarly(toNotFound(request), request));
    if (!isClosing()) maintenance.start();
    const response = show(request, ({ authenticate, maskKeys }, id) =>
      respondWithTasks(tasks, route, { request, id, authenticate, maskKeys }),
    );
    tracker.track(response);
    return response;
  };

  const showPage = async (route: PageRoute, request: GatewayRequest): Promise<GatewayResponse> => {
    if (isClosing()) return refuseEarly(closedError(), request);
    const id = permanent.createId();
    const { logger } = permanent;
    if (route.operation === "reference" && options.reference !== undefined) {
      const parts = { page: options.reference, logger };
      return (await respondWithReference(parts, route.file, { request, id })) ?? notFound(request);
    }
    if (route.operation === "healthz" || description === undefined) {
      return respondWithHealth(healthz, { request, id });
    }
    return respondWithDescription({ document: description, logger }, { request, id });
  };

  const respondTo = (
    route: Endpoint | ModelsRoute | TasksRoute,
    request: GatewayRequest,
  ): Promise<GatewayResponse> => {
    if (route.operation === "tasks") return showTasks(route, request);
    if (route.operation !== "models") return respond(route, request);
    return show(request, (parts, id) => respondWithModels(parts, route.name, { request, id }));
  };

  const showFile = async (route: FilesRoute, request: GatewayRequest): Promise<GatewayResponse> => {
    // The matcher finds files only if the gateway serves them.
    if (files === undefined) return refuseEarly(toNotFound(request), request);
    if (isClosing()) return refuseEarly(closedError(), request);
    maintenance.start();
    return respondWithFile(files, route, { request, id: permanent.createId() });
  };

  const handle: RequestHandler["handle"] = (request) => {
    const { url, mountPath } = request;
    const announced = cors.readPreflight(request);
    const route = matchRoute({ method: announced ?? request.method, url, mountPath });
    if (route === undefined) return null;
    if (announced !== undefined) return Promise.resolve(cors.allowPreflight(request, permanent.createId()));
    if (route === "unserved") {
      return Promise.resolve(cors.addHeaders(request, refuseEarly(toNotFound(request), request)));
    }
    if (route.operation === "files") return showFile(route, request);
    const responds = "file" in route ? showPage(route, request) : respondTo(route, request);
    return cors.concerns(request)
      ? responds.then((responded) => cors.addHeaders(request, responded))
      : responds;
  };

  return { handle, notFound, close: () => tasks?.watch.close() };
}

/** Waits for the options that take time to load, and then handles the request. */
async function runWhenLoaded(
  assembly: GatewayAssembly,
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
async function loadParts(
  { permanent, reloadable }: GatewayAssembly,
  requestId: string,
): Promise<GatewayParts | undefined> {
  try {
    return await reloadable.get();
  } catch (error) {
    permanent.logger.error({ requestId, err: error }, "The options could not be read.");
    return undefined;
  }
}

/** What the route of stored images needs. `undefined` if the gateway does not serve images. */
function toFilesParts(permanent: GatewayAssembly["permanent"]): FilesParts | undefined {
  const served = permanent.results?.served;
  return served && { ...permanent, served };
}

/** What the routes of tasks need. `undefined` if the ledger keeps no tasks. */
function toTasksParts(permanent: GatewayAssembly["permanent"]): TasksParts | undefined {
  const { tasks, results, track, logger } = permanent;
  if (tasks === undefined) return undefined;
  const { store } = tasks;
  const objects = results?.objects;
  return {
    ...permanent,
    store,
    watch: createTaskWatch({ ...permanent, store }),
    openResult: (result) => openResult(result, objects),
    removeInput: (input) => track(removeBodies([input], { objects, logger })),
  };
}

/** Responds to a request that does not enter the pipeline. */
function refuse(
  assembly: GatewayAssembly,
  error: GatewayError,
  {
    endpoint,
    request,
    arrival = createArrival(assembly.permanent, endpoint.operation),
  }: { readonly endpoint: Endpoint; readonly request: GatewayRequest; readonly arrival?: Arrival },
): GatewayResponse {
  const report = new RequestReport(assembly.permanent, arrival);
  const context = { id: arrival.id, mask: currentMask(assembly), endpoint };
  const response = renderError(report.refused(error, request), context);
  report.responded(response);
  return response;
}

function currentMask({ reloadable }: GatewayAssembly): (text: string) => string {
  return reloadable.current?.maskKeys ?? String;
}

function unreadError(): GatewayError {
  const message = "This server cannot read its options at the moment: try again.";
  return new GatewayError("gateway_unavailable", message, { retryAfterSeconds: 5 });
}

function notFoundError(
  request: Pick<GatewayRequest, "method" | "url">,
  { basePath, hasTasks }: { readonly basePath: string; readonly hasTasks: boolean },
): GatewayError {
  const path = requestPath(request);
  const requested = `${request.method} ${path}`.slice(0, 256);
  if (!hasTasks && isTasksPath(path)) {
    return new GatewayError(
      "not_found",
      `${requested} is not served, because the ledger of this gateway keeps no tasks. The ledgers in memory, of ` +
        "@calotype/sqlite and of @calotype/postgres do.",
    );
  }
  const below = basePath === "" ? "" : ` below ${basePath}`;
  return new GatewayError(
    "not_found",
    `${requested} is not served. The gateway serves POST requests whose path ends in /v1/images/generations, ` +
      "/v1/images/edits, /api/v3/images/generations or /api/v1/services/aigc/multimodal-generation/generation, and " +
      `GET /v1/models${hasTasks ? " and /v1/images/tasks" : ""}${below}.`,
  );
}
