import { invalidRequest } from "../../errors.js";
import { reportRefusal } from "../../events.js";
import type { GatewayRequest, GatewayResponse, HeaderReader } from "../../http.js";
import type { Configured, Feature } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import { type GatewayRoute, readQuery, requestPath } from "../../request/route.js";
import { renderError } from "../../responses/envelope.js";
import { isJsonObject } from "../../util/json.js";
import {
  convertStream,
  findUrlBefore,
  isStream,
  readConverted,
  readForeignRequest,
  sendConverted,
} from "../converted-requests/converted-requests.js";
import { readGenerateContent } from "./gemini-request.js";
import { createGeneratedTranslation, toGeminiError, toGenerated } from "./gemini-response.js";

/**
 * `POST {base}/v1beta/models/{model}:generateContent` and `:streamGenerateContent`, also at `/v1`, for Google's SDK `@google/genai`, with
 * every model of the gateway. In a composed gateway, name it before `modelsList`. The key is in `x-goog-api-key`. Only below a `basePath` or a mount path.
 */
export function geminiEndpoint(): Feature {
  return {
    name: "gemini-endpoint",
    setup: () => ({ routes: (host) => [createGeminiRoute(host)] }),
  };
}

/** The first group is never empty, so that the route matches below a base path or a mount path only. */
const GEMINI_PATH = /^(.*\/v1(?:beta)?)\/models\/(.+):(generateContent|streamGenerateContent)$/;

/** What such a path has after the base path or the mount path. */
const PATH_AT_END = /\/v1(?:beta)?\/models\/.*$/s;

function createGeminiRoute(host: RouteHost<Configured>): GatewayRoute {
  return {
    pattern: GEMINI_PATH,
    respond(request, [model = "", method = ""]) {
      const response = host.respondWithOptions(request, async (configured, id) => {
        try {
          const isStreamed = method === "streamGenerateContent";
          return await toGeminiErrors(
            await respondToGemini({ host, configured, request }, model, isStreamed),
          );
        } catch (cause) {
          const error = reportRefusal(configured, cause, { id, request });
          return toGeminiErrors(renderError(error, { id, redact: configured.redactKeys }));
        }
      });
      host.track(response);
      return response;
    },
  };
}

interface GeminiCall {
  readonly host: RouteHost<Configured>;
  readonly configured: Configured;
  readonly request: GatewayRequest;
}

/** @throws GatewayError if the request is refused before it is one of `/v1` */
async function respondToGemini(
  { host, configured, request }: GeminiCall,
  modelInPath: string,
  isStreamed: boolean,
): Promise<GatewayResponse> {
  checkQuery(request, isStreamed);
  const { caller, fields } = await readForeignRequest(
    host,
    configured,
    request,
    readKeyHeader(request.headers),
  );
  const model = configured.resolveModel(decode(modelInPath), caller, "generate");
  const response = await sendConverted(host, request, {
    urlBefore: findUrlBefore(request, PATH_AT_END.exec(requestPath(request))?.[0] ?? ""),
    model,
    fields: { ...readGenerateContent(fields, model.family), ...(isStreamed && { stream: true }) },
    caller: { ...caller, streamFormat: "openai", sizes: caller.sizes ?? "nearest" },
  });
  // A task stays a task, and an error is converted by the route.
  if (response.status !== 200) return response;
  const context = { modelVersion: model.name, responseId: response.headers["x-request-id"] ?? "" };
  if (isStream(response)) return convertStream(response, createGeneratedTranslation(context));
  const generated = toGenerated(await readConverted(response), context);
  return { status: 200, headers: response.headers, body: JSON.stringify(generated) };
}

/** @throws GatewayError `invalid_request_error` */
function checkQuery(request: GatewayRequest, isStreamed: boolean): void {
  const query = readQuery(request);
  // URLs are written to logs.
  if (query.has("key"))
    throw invalidRequest("Send the key in the header x-goog-api-key, not in the URL.", "key");
  if (isStreamed && query.get("alt") !== "sse")
    throw invalidRequest("streamGenerateContent sends events only: add ?alt=sse.", "alt");
}

/** The headers, with the key of `x-goog-api-key` where the gateway reads keys. */
function readKeyHeader(headers: HeaderReader): HeaderReader {
  const key = headers.get("x-goog-api-key");
  if (key === null || headers.get("authorization") !== null) return headers;
  return { get: (name) => (name === "authorization" ? `Bearer ${key}` : headers.get(name)) };
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

async function toGeminiErrors(response: GatewayResponse): Promise<GatewayResponse> {
  if (response.status < 400) return response;
  const { error } = await readConverted(response);
  const body = toGeminiError(isJsonObject(error) ? error : {}, response.status);
  return { status: response.status, headers: response.headers, body: JSON.stringify(body) };
}
