import { type Caller, GatewayError } from "@calotype/core";
import type { GatewayRequest, GatewayResponse, HeaderReader } from "@calotype/core/adapter";
import { readBody } from "../read-body.js";
import { respondWithJson, withSecurity } from "../respond.js";
import type { EstimateQuery } from "../wire.js";
import type { ApiCall, ApiParts, ApiRoute } from "./route.js";

/** The API key of Try. Not `Authorization`, which `authorize` may read. */
const KEY_HEADER = "x-calotype-studio-key";

/** The page shows images from the response itself, because its policy allows no image of elsewhere. */
const PREFERENCES = { responseFormat: "b64_json", streamFormat: "openai" } as const;

/** The headers that describe the body. All others are of the page, and the gateway does not get them. */
const PASSED: ReadonlySet<string> = new Set(["content-type", "content-length", "transfer-encoding", "host"]);

export const TRY_ROUTES: readonly ApiRoute[] = [
  { method: "GET", path: "models", role: "viewer", run: (parts, call) => send(parts, call, "/v1/models") },
  {
    method: "POST",
    path: "images/generations",
    role: "viewer",
    run: (parts, call) => send(parts, call, "/v1/images/generations"),
  },
  {
    method: "POST",
    path: "images/edits",
    role: "viewer",
    run: (parts, call) => send(parts, call, "/v1/images/edits"),
  },
  {
    method: "POST",
    path: "estimate",
    role: "viewer",
    async run(parts, call) {
      const request = await toTryRequest(parts, call);
      return respondWithJson(
        await parts.gateway.estimate(request, readEstimate(await readBody(call.request))),
      );
    },
  },
];

/** Sends a request to the gateway, as any other client would. Its body is not read here. */
async function send(parts: ApiParts, call: ApiCall, path: string): Promise<GatewayResponse> {
  const { gateway } = parts;
  const request: GatewayRequest = {
    ...(await toTryRequest(parts, call)),
    url: gateway.basePath + path,
    mountPath: "/",
  };
  return withSecurity(await (gateway.handle(request) ?? gateway.notFound(request)));
}

/** The request with the key that the person has entered, or with the caller of the studio. */
async function toTryRequest(parts: ApiParts, { request, role }: ApiCall): Promise<GatewayRequest> {
  const key = request.headers.get(KEY_HEADER);
  const passed: GatewayRequest = {
    method: request.method,
    url: request.url,
    isEncrypted: request.isEncrypted,
    headers: passHeaders(request.headers, key),
    body: request.body,
    parsedBody: request.parsedBody,
    bodyConsumed: request.bodyConsumed ?? false,
    signal: request.signal,
    waitUntil: request.waitUntil,
    preferences: PREFERENCES,
  };
  if (key !== null || role !== "admin" || parts.caller === undefined) return passed;
  return { ...passed, caller: await findCaller(parts) };
}

function passHeaders(headers: HeaderReader, key: string | null): HeaderReader {
  return {
    get(name) {
      const lower = name.toLowerCase();
      if (lower === "authorization") return key === null ? null : `Bearer ${key}`;
      return PASSED.has(lower) ? headers.get(lower) : null;
    },
  };
}

/** @throws GatewayError if the caller of the studio does not exist */
async function findCaller({ gateway, caller }: ApiParts): Promise<Caller> {
  if (typeof caller === "object") return caller;
  const id = caller ?? "";
  // A caller whose key was changed has an entry for each key, and the old one may have expired.
  const fixed = (await gateway.callers.fixed()).filter((other) => other.id === id);
  const [first] = fixed;
  if (first !== undefined) return fixed.find(isValid) ?? first;
  const stored = await gateway.callers.find(id);
  if (stored?.state === "active") {
    const { state: _state, keys: _keys, createdAt: _created, changedAt: _changed, ...settings } = stored;
    return settings;
  }
  const message = `The caller ${id} of the studio's options does not exist, or was revoked.`;
  throw new GatewayError("caller_not_found", message);
}

function isValid({ expiresAt }: Caller): boolean {
  return expiresAt === undefined || new Date(expiresAt).getTime() > Date.now();
}

function readEstimate(body: Readonly<Record<string, unknown>>): EstimateQuery {
  const { operation, fields } = body;
  if (operation !== "generate" && operation !== "edit") {
    throw new GatewayError("invalid_request_error", 'operation must be "generate" or "edit".', {
      param: "operation",
    });
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    throw new GatewayError("invalid_request_error", "fields must be an object.", { param: "fields" });
  }
  return { operation, fields: Object.fromEntries(Object.entries(fields)) };
}
