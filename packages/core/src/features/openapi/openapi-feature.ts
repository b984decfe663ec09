import * as z from "zod/mini";
import { toGatewayError } from "../../events.js";
import type { GatewayRequest, GatewayResponse } from "../../http.js";
import type { Feature } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import type { Logger } from "../../logger.js";
import { checkFeatureOptions } from "../../options/problems.js";
import { hook } from "../../options/schema-parts.js";
import { checkMethod, type GatewayRoute, requestPath, toPagePattern } from "../../request/route.js";
import { renderError, toResponseHeaders } from "../../responses/envelope.js";
import type { JsonObject } from "../../util/json.js";
import type { ReferencePage } from "../reference-page/reference-page.js";
import { openapiSchema } from "./openapi-schema.js";

export const DESCRIPTION_PATH = /* @__PURE__ */ toPagePattern("openapi\\.json");
/** With a file below `reference/`. */
export const REFERENCE_PATH = /* @__PURE__ */ toPagePattern("reference(?:/([\\w-][\\w.-]*))?");

/** The options of {@link openapi}. */
export interface OpenApiOptions {
  /** The operator's own document. Default: that of this package, which is loaded with the first request for it. */
  readonly document?: true | JsonObject | undefined;
  /** A page for people who read the document: `createReference` of `@calotype/core/reference`. Default: none. */
  readonly reference?: ReferencePage | undefined;
}

/**
 * `GET {base}/openapi.json`: the description of the gateway, and perhaps a page for it. Both need no key.
 *
 * @throws GatewayOptionsError
 */
export function openapi(options: OpenApiOptions = {}): Feature {
  const schema = z.strictObject({ document: openapiSchema, reference: hook }, "must be an object");
  checkFeatureOptions(schema, options);
  return createOpenApiFeature(options);
}

/** @param options validated */
export function createOpenApiFeature({ document = true, reference }: OpenApiOptions): Feature {
  return {
    name: "openapi",
    setup: ({ logger }) => ({
      routes: (host) => [
        createDescriptionRoute(host, document, logger),
        ...(reference === undefined ? [] : [createReferenceRoute(host, reference, logger)]),
      ],
    }),
  };
}

/** The route of `GET {base}/openapi.json`. */
function createDescriptionRoute(
  { respond }: RouteHost<unknown>,
  document: true | JsonObject,
  logger: Logger,
): GatewayRoute {
  return {
    pattern: DESCRIPTION_PATH,
    respond: (request) => respond(request, (id) => respondWithDescription(document, logger, { request, id })),
  };
}

/** The route of `GET {base}/reference` and the files of this page. */
function createReferenceRoute(
  { respond, notFound }: RouteHost<unknown>,
  page: ReferencePage,
  logger: Logger,
): GatewayRoute {
  return {
    pattern: REFERENCE_PATH,
    respond: (request, [file = ""]) =>
      respond(
        request,
        async (id) => (await respondWithReference({ page, file, logger }, request, id)) ?? notFound(request),
      ),
  };
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
  document: true | JsonObject,
  logger: Logger,
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

interface RequestedFile {
  readonly page: ReferencePage;
  readonly file: string;
  readonly logger: Logger;
}

/**
 * Responds to `GET {base}/reference` and to requests for the files of this page. Does not reject. Returns `undefined` if there is
 * no such file.
 *
 * @param id the request's id
 */
async function respondWithReference(
  { page, file, logger }: RequestedFile,
  request: GatewayRequest,
  id: string,
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
