import { checkFault } from "./faults/check-fault.js";
import type { Fault } from "./faults/fault.js";
import { readLimited } from "./http/read-limited.js";
import { jsonResponse } from "./http/responses.js";
import { parseJson } from "./json.js";
import type { RecordedRequest } from "./recorder.js";
import type { Services } from "./services.js";

/** The paths of the emulator itself. No provider has a path like this. */
export const controlPath = "/_emulator/";

const maxBodyBytes = 1024 * 1024;

type ControlHandler = (request: Request, services: Services) => Response | Promise<Response>;

const handlers: Readonly<Record<string, ControlHandler>> = {
  "GET /_emulator/faults": (_request, { faults }) => jsonResponse(faults.active),
  "POST /_emulator/faults": addFaults,
  "DELETE /_emulator/faults": (_request, { faults }) => {
    faults.clear();
    return noContent();
  },
  "GET /_emulator/requests": (_request, { recorder }) => listRequests(recorder.requests),
  "DELETE /_emulator/requests": (_request, { recorder }) => {
    recorder.clear();
    return noContent();
  },
};

/** Faults and recorded requests over HTTP, for tests that run in another process. */
export async function handleControl(request: Request, services: Services): Promise<Response> {
  const { pathname } = new URL(request.url);
  const handler = handlers[`${request.method} ${pathname}`];
  if (handler !== undefined) return handler(request, services);
  const known = Object.keys(handlers);
  const methods = known.filter((route) => route.endsWith(` ${pathname}`)).map((route) => route.split(" ")[0]);
  if (methods.length === 0)
    return jsonResponse({ message: `Unknown path. Known are: ${known.join(", ")}.` }, 404);
  return jsonResponse({ message: `Use ${methods.join(", ")}.` }, 405, { allow: methods.join(", ") });
}

async function addFaults(request: Request, { faults }: Services): Promise<Response> {
  const bytes = await readLimited(request.body, maxBodyBytes);
  const body = bytes === undefined ? undefined : parseJson(bytes.toString("utf8"));
  if (body === undefined) {
    return jsonResponse({ message: "Send a fault, or a list of faults, as JSON of at most 1 MiB." }, 400);
  }
  try {
    const checked: Fault[] = (Array.isArray(body) ? body : [body]).map(checkFault);
    faults.add(...checked);
  } catch (error) {
    if (error instanceof TypeError) return jsonResponse({ message: error.message }, 400);
    throw error;
  }
  return jsonResponse(faults.active, 201);
}

/** Bodies are inserted as they were sent, because deeply nested JSON would overflow `JSON.stringify`. */
function listRequests(requests: readonly RecordedRequest[]): Response {
  const entries = requests.map(({ body, bodyText, ...rest }) => {
    const head = JSON.stringify({ ...rest, bodyText }).slice(0, -1);
    return body === undefined ? `${head}}` : `${head},"body":${bodyText}}`;
  });
  return new Response(`[${entries.join(",")}]`, {
    headers: { "content-type": "application/json; charset=utf-8" },
  });
}

function noContent(): Response {
  return new Response(null, { status: 204 });
}
