import { toGatewayError } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { RouteHost } from "../../kernel/route-host.js";
import type { Logger } from "../../logger.js";
import { checkMethod, type GatewayRoute, requestPath, toPagePattern } from "../../request/route.js";
import { renderError, toResponseHeaders } from "../../responses/envelope.js";
import type { JsonObject } from "../../util/json.js";
import type { ReferencePage } from "../reference-page/reference-page.js";

export const DESCRIPTION_PATH = toPagePattern("openapi\\.json");
/** With a file below `reference/`. */
export const REFERENCE_PATH = toPagePattern("reference(?:/([\\w-][\\w.-]*))?");

/** The route of `GET {base}/openapi.json`. */
export function createDescriptionRoute({ respond }: RouteHost<unknown>, parts: OpenApiParts): GatewayRoute {
  return {
    pattern: DESCRIPTION_PATH,
    respond: (request) => respond(request, (id) => respondWithDescription(parts, { request, id })),
  };
}

/** The route of `GET {base}/reference` and the files of this page. */
export function createReferenceRoute(
  { respond, notFound }: RouteHost<unknown>,
  parts: ReferencePageParts,
): GatewayRoute {
  return {
    pattern: REFERENCE_PATH,
    respond: (request, [file = ""]) =>
      respond(
        request,
        async (id) => (await respondWithReference(parts, file, { request, id })) ?? notFound(request),
      ),
  };
}

/** What the route of the description needs. */
export interface OpenApiParts {
  /** The operator's own document. `true`: that of this package, which is loaded with the first request for it. */
  readonly document: true | JsonObject;
  readonly logger: Logger;
}

/** Seconds for which the document may be kept. It changes with the version of the gateway. */
const MAX_AGE = 300;

/**
 * Responds to `GET {base}/openapi.json`. Does not reject. It needs no key: the document says what every gateway of this
 * version serves, and nothing of the options.
 *
 * @param id the request's id
 */
async function respondWithDescription(
  { document, logger }: OpenApiParts,
  { request, id }: { readonly request: GatewayRequest; readonly id: string },
): Promise<GatewayResponse> {
  try {
    checkMethod(request, "GET");
    const description = document === true ? await loadDocument() : document;
    const base = requestPath(request).slice(0, -"/openapi.json".length);
    const headers = {
      ...toResponseHeaders("application/json", { id, ignored: [] }),
      "cache-control": `public, max-age=${MAX_AGE}`,
    };
    return {
      status: 200,
      headers,
      body: JSON.stringify({ servers: [{ url: base || "/" }], ...description }),
    };
  } catch (cause) {
    return renderError(toGatewayError(cause, logger, id), { id, redact: String });
  }
}

/** What the route of the page needs. */
export interface ReferencePageParts {
  readonly page: ReferencePage;
  readonly logger: Logger;
}

/**
 * Responds to `GET {base}/reference` and to requests for the files of this page. Does not reject. Returns `undefined` if there is
 * no such file.
 *
 * @param id the request's id
 */
async function respondWithReference(
  { page, logger }: ReferencePageParts,
  file: string,
  { request, id }: { readonly request: GatewayRequest; readonly id: string },
): Promise<GatewayResponse | undefined> {
  try {
    checkMethod(request, "GET");
    const response = await page(file, request);
    return response && { ...response, headers: { ...response.headers, "x-request-id": id } };
  } catch (cause) {
    return renderError(toGatewayError(cause, logger, id), { id, redact: String });
  }
}

/** Imported on demand: the document is larger than most parts of the gateway. */
async function loadDocument(): Promise<JsonObject> {
  const { openApiDocument } = await import("#openapi");
  if (openApiDocument !== undefined) return openApiDocument;
  throw new TypeError("On Workers the option openapi is the document itself, of @calotype/core/openapi.");
}
