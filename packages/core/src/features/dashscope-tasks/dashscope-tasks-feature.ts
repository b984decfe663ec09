import { invalidRequest } from "../../errors.js";
import { reportRefusal } from "../../events.js";
import { qwenImageEndpoint } from "../../families/qwen-image/endpoint.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { Configured, Feature } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import { checkMethod, type Endpoint, findPaths, type GatewayRoute, isServed } from "../../request/route.js";
import { renderError } from "../../responses/envelope.js";
import { isJsonObject, type JsonObject } from "../../util/json.js";
import {
  findUrlBefore,
  readConverted,
  readForeignRequest,
  sendConverted,
  sendToGateway,
} from "../converted-requests/converted-requests.js";
import { readTaskFields } from "./dashscope-request.js";
import { toDashScopeTask, toSubmitted, toUnknown } from "./dashscope-response.js";

/**
 * DashScope's asynchronous protocol: a request with `X-DashScope-Async: enable` becomes a task of the gateway, and
 * `GET {base}/api/v1/tasks/{id}` reads it in DashScope's shape. Needs the feature `tasks` and a ledger that keeps tasks; without them
 * such a request is a 400.
 */
export function dashscopeTasks(): Feature {
  return {
    name: "dashscope-tasks",
    setup() {
      let gateway: RouteHost<Configured> | undefined;
      return {
        routes(host) {
          gateway = host;
          return [createSubmitRoute(host), createTaskRoute(host)];
        },
        asTask: (endpoint, request) =>
          gateway !== undefined && endpoint.path === ENDPOINT.path && wantsTask(request)
            ? respond(gateway, request, (call) => submitTask(call, ENDPOINT.path))
            : undefined,
      };
    },
  };
}

/** For its path, and for the shape of its errors. */
const ENDPOINT: Endpoint = /* @__PURE__ */ toEndpoint();

function toEndpoint(): Endpoint {
  return { ...qwenImageEndpoint, operation: "native" };
}

function wantsTask({ method, headers }: GatewayRequest): boolean {
  return method === "POST" && headers.get("x-dashscope-async")?.trim().toLowerCase() === "enable";
}

/** The paths that DashScope's SDKs use for tasks only. */
const SUBMIT_PATH =
  /^(.*?)(\/api\/v1\/services\/aigc\/(?:image-generation\/generation|(?:text2image|image2image)\/image-synthesis))$/;

function createSubmitRoute(host: RouteHost<Configured>): GatewayRoute {
  return {
    pattern: SUBMIT_PATH,
    respond: (request, [path = ""]) =>
      respond(host, request, (call) => {
        checkMethod(request, "POST");
        if (wantsTask(request)) return submitTask(call, path);
        throw invalidRequest(
          `This path takes tasks only: send X-DashScope-Async: enable, or use ${ENDPOINT.path}.`,
        );
      }),
  };
}

/** Only ids of this gateway, because the host may have a route of this name. */
const TASK_PATH = /^(.*?)\/api\/v1\/tasks\/(task_[\da-f]{32})(\/cancel)?$/;

function createTaskRoute(host: RouteHost<Configured>): GatewayRoute {
  return {
    pattern: TASK_PATH,
    respond: (request, [taskId = "", cancel = ""]) =>
      respond(host, request, (call) => showTask(call, taskId, cancel)),
  };
}

interface TaskCall {
  readonly host: RouteHost<Configured>;
  readonly configured: Configured;
  readonly request: GatewayRequest;
}

/** Errors have DashScope's shape. */
function respond(
  host: RouteHost<Configured>,
  request: GatewayRequest,
  respondTo: (call: TaskCall) => Promise<GatewayResponse>,
): Promise<GatewayResponse> {
  const response = host.respondWithOptions(request, async (configured, id) => {
    try {
      return await respondTo({ host, configured, request });
    } catch (cause) {
      const error = reportRefusal(configured, cause, { id, request });
      return renderError(error, { id, redact: configured.redactKeys, endpoint: ENDPOINT });
    }
  });
  host.track(response);
  return response;
}

/** @throws GatewayError if the request is refused before it is one of `/v1` */
async function submitTask({ host, configured, request }: TaskCall, path: string): Promise<GatewayResponse> {
  const { headers } = request;
  const keepsTasks = configured.submissions !== undefined;
  // The rules for the other headers are those of a request that waits.
  qwenImageEndpoint.checkHeaders?.({
    get: (name) => (keepsTasks && name === "x-dashscope-async" ? null : headers.get(name)),
  });
  const { caller, fields } = await readForeignRequest(host, configured, request);
  const model = configured.resolveModel(fields["model"], caller, "native");
  if (!isServed(ENDPOINT, model))
    throw invalidRequest(
      `The model ${model.name} is served at ${findPaths(model).join(", ")} only.`,
      "model",
    );
  const response = await sendConverted(host, request, {
    urlBefore: findUrlBefore(request, path),
    model,
    fields: readTaskFields(fields),
    caller,
    isTask: true,
  });
  return convert(response, toSubmitted);
}

async function showTask(
  { host, configured, request }: TaskCall,
  taskId: string,
  cancel: string,
): Promise<GatewayResponse> {
  const isCancel = cancel !== "";
  checkMethod(request, isCancel ? "POST" : "GET");
  const response = await sendToGateway(host, request, {
    // The host leaves out the body of a response to HEAD.
    method: isCancel ? "POST" : "GET",
    url: `${findUrlBefore(request, `/api/v1/tasks/${taskId}${cancel}`)}/v1/images/tasks/${taskId}${cancel}`,
    caller: await configured.authenticate(request),
  });
  return convert(response, (body, requestId) => {
    if (response.status === 404) return toUnknown(taskId, requestId);
    return isCancel ? { request_id: requestId } : toDashScopeTask(body, requestId);
  });
}

/** Converts a response of `/v1`. An error gets the fields that DashScope's SDKs read. A task that does not exist is none. */
async function convert(
  response: GatewayResponse,
  toBody: (body: JsonObject, requestId: string) => JsonObject,
): Promise<GatewayResponse> {
  const id = response.headers["x-request-id"] ?? "";
  const body = await readConverted(response);
  const { error } = body;
  const isRefused = isJsonObject(error) && error["code"] !== "task_not_found" && response.status >= 400;
  const converted = isRefused
    ? {
        ...qwenImageEndpoint.toErrorFields?.(
          { code: String(error["code"]), message: String(error["message"]) },
          id,
        ),
        ...body,
      }
    : toBody(body, id);
  // Headers of `/v1` that DashScope does not send with a task.
  const {
    location: _path,
    "preference-applied": _preference,
    "retry-after": _seconds,
    ...headers
  } = response.headers;
  return {
    status: isRefused ? response.status : 200,
    headers: isRefused ? response.headers : headers,
    body: JSON.stringify(converted),
  };
}
