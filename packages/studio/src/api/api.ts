import type { GatewayRequest, GatewayResponse } from "@calotype/core/adapter";
import { compress } from "../gzip.js";
import { respondToFailure, respondWithError } from "../respond.js";
import { CHANGE_HEADER, isFromOtherSite, isFromOwnPage } from "../same-origin.js";
import { CALLER_ROUTES } from "./callers.js";
import { CHANNEL_ROUTES } from "./channels.js";
import { IMAGE_ROUTES } from "./images.js";
import { PRICE_ROUTES } from "./prices.js";
import type { ApiCall, ApiParts, ApiRoute } from "./route.js";
import { SEARCH_ROUTES } from "./search.js";
import { SESSION_ROUTES } from "./session.js";
import { TASK_ROUTES } from "./tasks.js";
import { TRY_ROUTES } from "./try.js";
import { USAGE_ROUTES } from "./usage.js";

const ROUTES: readonly ApiRoute[] = [
  ...SESSION_ROUTES,
  ...SEARCH_ROUTES,
  ...TRY_ROUTES,
  ...USAGE_ROUTES,
  ...IMAGE_ROUTES,
  ...CHANNEL_ROUTES,
  ...CALLER_ROUTES,
  ...PRICE_ROUTES,
  ...TASK_ROUTES,
];

/** Creates the function that responds to requests below `api/`. It uses only the public interfaces of the gateway. */
export function createApi(
  parts: ApiParts,
): (
  request: GatewayRequest,
  path: string,
  access: Pick<ApiCall, "role" | "access">,
) => Promise<GatewayResponse> {
  return async (request, path, { role, access }) => {
    const found = ROUTES.flatMap((route) => {
      const values = matchPath(route.path, path);
      return values === undefined ? [] : [{ route, values }];
    });
    const match = found.find(({ route }) => route.method === request.method);
    if (match === undefined) return respondToUnknown(found.map(({ route }) => route.method));
    const { route, values } = match;
    if (route.method === "GET" ? isFromOtherSite(request.headers) : !isFromOwnPage(request.headers)) {
      const message = `Only the studio's own page may send this request, with the header ${CHANGE_HEADER}: 1.`;
      return respondWithError(403, "cross_site_request", message);
    }
    if (route.role === "admin" && role !== "admin") {
      return respondWithError(403, "not_admin", "You may look at this, but not change it.");
    }
    try {
      const response = await route.run(parts, {
        request,
        role,
        access,
        values,
        query: readQuery(request.url),
      });
      // Only what is read: a response with a new key beside what a person typed is never compressed.
      return route.method === "GET" ? await compress(response, request) : response;
    } catch (cause) {
      // The ledger stops reports whose client has disconnected.
      if (request.signal.aborted)
        return respondWithError(499, "client_disconnected", "The client has disconnected.");
      return respondToFailure(cause, parts.logger);
    }
  };
}

function respondToUnknown(methods: readonly string[]): GatewayResponse {
  if (methods.length === 0) return respondWithError(404, "not_found", "The studio has no such address.");
  return respondWithError(405, "method_not_allowed", `Send ${methods.join(" or ")}.`);
}

/** Returns the values of the parts with a colon, or `undefined` if the path does not match. */
function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [names, parts] = [pattern.split("/"), path.split("/")];
  if (names.length !== parts.length) return undefined;
  const values: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const part = parts[index] ?? "";
    if (!name.startsWith(":")) {
      if (name !== part) return undefined;
      continue;
    }
    const value = decode(part);
    if (value === undefined || value === "") return undefined;
    values[name.slice(1)] = value;
  }
  return values;
}

function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not an encoded value, so no address of the studio.
    return undefined;
  }
}

function readQuery(url: string): URLSearchParams {
  const start = url.indexOf("?");
  return new URLSearchParams(start === -1 ? "" : url.slice(start + 1));
}
