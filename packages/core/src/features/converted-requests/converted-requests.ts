import { GatewayError } from "../../errors.js";
import type { GatewayRequest, GatewayResponse, HeaderReader } from "../../http.js";
import { decodeDataUrl, detectMediaType } from "../../images/reference-image.js";
import type { Configured } from "../../kernel/feature.js";
import type { RouteHost } from "../../kernel/route-host.js";
import type { ResolvedModel } from "../../models/resolve-model.js";
import { checkMethod, requestPath } from "../../request/route.js";
import { EventLines } from "../../responses/event-lines.js";
import { HEARTBEAT } from "../../responses/sse.js";
import type { Caller } from "../../types.js";
import { ChunkReader, openFlow, StagedFlow } from "../../util/chunk-flow.js";
import { createHeldBytes } from "../../util/held-bytes.js";
import { joinChunks } from "../../util/join-chunks.js";
import { isJsonObject, type JsonObject, parseJson } from "../../util/json.js";
import { encodeText } from "../../util/utf8.js";

/*
 * Routes of other interfaces convert a request to one of `/v1`, and the response of the gateway back. So such a request has the
 * checks, limits, charges, tasks and records of every other one.
 */

/** A request of another interface, whose body has been read. */
export interface ForeignRequest {
  readonly request: GatewayRequest;
  readonly caller: Caller;
  readonly fields: JsonObject;
}

/**
 * Reads a request of another interface.
 *
 * @param headers read instead of the headers of the request, if the interface sends the key in another header
 * @throws GatewayError if nobody may send it, or if its body is not a JSON object
 */
export async function readForeignRequest(
  { readJson }: Pick<RouteHost<Configured>, "readJson">,
  { authenticate }: Pick<Configured, "authenticate">,
  request: GatewayRequest,
  headers: HeaderReader = request.headers,
): Promise<ForeignRequest> {
  checkMethod(request, "POST");
  const { method, url, isEncrypted, caller: known, preferences } = request;
  const findUser = request.findUser && (() => request.findUser?.());
  const found = authenticate({ method, url, isEncrypted, caller: known, preferences, findUser, headers });
  // Awaited only if it is a promise, see `Authenticator`.
  const caller = "then" in found ? await found : found;
  return { request, caller, fields: await readJson(request, caller.id) };
}

/** A request of `/v1` that makes images. */
export interface ConvertedRequest {
  /** The URL before `/v1/…`, see {@link findUrlBefore}. */
  readonly urlBefore: string;
  readonly model: ResolvedModel;
  /** Those of `/v1`, with reference images in `image`. */
  readonly fields: JsonObject & { readonly image?: readonly unknown[] };
  /** Who sends it. Its preferences apply. */
  readonly caller: Caller;
  /** Whether it becomes a task, also without `Prefer`. */
  readonly isTask?: boolean;
}

/** Returns the URL before the path of a route, without its query. Doubled slashes count as one, as for the route. */
export function findUrlBefore(request: Pick<GatewayRequest, "url">, path: string): string {
  const { url } = request;
  const origin = !url.startsWith("/") && URL.canParse(url) ? new URL(url).origin : "";
  return origin + requestPath(request).slice(0, -path.length);
}

/** Responds to a converted request as the gateway does. */
export function sendConverted(
  host: Pick<RouteHost<Configured>, "handle" | "notFound">,
  request: GatewayRequest,
  { urlBefore, model, fields: { image = [], ...fields }, caller, isTask = false }: ConvertedRequest,
): Promise<GatewayResponse> | GatewayResponse {
  const hasImages = image.length > 0;
  // Some families take images only at the path of edits, and some models are not served there.
  const name = hasImages && model.operations.has("edit") ? "edits" : "generations";
  return sendToGateway(host, request, {
    method: "POST",
    url: `${urlBefore}/v1/images/${name}`,
    caller,
    headers: { "content-type": "application/json", ...(isTask && { prefer: "respond-async" }) },
    // As bytes: then its length counts, and long data URLs stay bytes.
    parsedBody: encodeText(JSON.stringify({ ...fields, model: model.name, ...(hasImages && { image }) })),
  });
}

/** What differs in a request that the gateway itself handles. */
interface OwnRequest extends Pick<GatewayRequest, "method" | "url" | "caller" | "parsedBody"> {
  /** They replace headers of the client with the same name. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Responds to another request as the gateway does. */
export function sendToGateway(
  { handle, notFound }: Pick<RouteHost<Configured>, "handle" | "notFound">,
  { mountPath, isEncrypted, signal, waitUntil, headers: ofClient }: GatewayRequest,
  { headers: own = {}, ...request }: OwnRequest,
): Promise<GatewayResponse> | GatewayResponse {
  const headers: HeaderReader = {
    get(name) {
      const known = name.toLowerCase();
      return own[known] ?? (LEFT_OUT.has(known) ? null : ofClient.get(name));
    },
  };
  // The response is converted, so it must not be compressed.
  const sent = {
    ...request,
    mountPath,
    isEncrypted,
    headers,
    body: null,
    signal,
    waitUntil,
    encodesResponses: true,
  };
  return handle(sent) ?? notFound(sent);
}

/** Headers that describe the body or the sender of the client's request. Both are known. */
const LEFT_OUT: ReadonlySet<string> = /* @__PURE__ */ new Set([
  "accept-encoding",
  "content-encoding",
  "content-length",
  "origin",
]);

/**
 * Reads a complete response of `/v1`.
 *
 * @throws GatewayError `upstream_invalid_response` if it breaks off: a long response begins before all of it has come
 */
export async function readConverted({ body }: Pick<GatewayResponse, "body">): Promise<JsonObject> {
  try {
    const value = parseJson(new TextDecoder().decode(await readBytes(body)));
    if (isJsonObject(value)) return value;
  } catch (cause) {
    throw new GatewayError("upstream_invalid_response", BROKEN_OFF, { shouldRetry: false, cause });
  }
  throw new GatewayError("upstream_invalid_response", BROKEN_OFF, { shouldRetry: false });
}

const BROKEN_OFF =
  "The response broke off. Images may have been made and charged; x-request-id finds the usage record.";

async function readBytes(body: GatewayResponse["body"]): Promise<Uint8Array> {
  if (typeof body === "string") return encodeText(body);
  if (body instanceof Uint8Array) return body;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return joinChunks(chunks);
}

/** How the events of OpenAI's images API become those of another interface. Each function returns what is sent. */
export interface EventTranslation {
  onImage(image: JsonObject): string;
  /** Called once, after the last image, with what is known then. */
  onEnd(usage: JsonObject): string;
  /** Called in place of `onEnd`. */
  onError(error: JsonObject): string;
}

/**
 * Converts a stream in the format `openai`. An image is held until it is complete. A chunk that completes no image becomes
 * a comment, so that proxies keep the connection open.
 */
export function convertStream(response: GatewayResponse, translation: EventTranslation): GatewayResponse {
  const data = createHeldBytes();
  let usage: JsonObject = {};
  let hasFailed = false;
  let ready = "";
  const lines = new EventLines({
    onData: (bytes) => data.add(bytes),
    onEvent(name) {
      const event = parseJson(new TextDecoder().decode(data.take()));
      if (!isJsonObject(event) || hasFailed) return;
      if (isJsonObject(event["usage"])) usage = event["usage"];
      if (name === "error") {
        hasFailed = true;
        ready += translation.onError(isJsonObject(event["error"]) ? event["error"] : event);
      } else if (name?.endsWith(".completed") === true) {
        ready += translation.onImage(event);
      }
    },
  });
  const flow = new StagedFlow(openFlow(response.body), {
    push(chunk) {
      ready = "";
      lines.push(chunk);
      return encodeText(ready === "" ? HEARTBEAT : ready);
    },
    end: () => (hasFailed ? [] : [encodeText(translation.onEnd(usage))]),
  });
  return { ...response, body: new ChunkReader(flow) };
}

/** Whether a response is a stream of events. */
export function isStream({ headers }: Pick<GatewayResponse, "headers">): boolean {
  return headers["content-type"]?.startsWith("text/event-stream") === true;
}

/** An image of a response of `/v1`: a link, or base64 with its media type. */
export type DeliveredImage =
  | { readonly link: string }
  | { readonly base64: string; readonly mediaType: string };

/** Reads an element of `data`, or an event of an image. `undefined` if it has no image. */
export function readDelivered({ url, b64_json: base64 }: JsonObject): DeliveredImage | undefined {
  if (typeof base64 === "string" && base64 !== "") {
    const beginning = decodeDataUrl(`data:;base64,${base64.slice(0, BEGINNING)}`);
    return { base64, mediaType: detectMediaType(beginning) ?? "image/png" };
  }
  return typeof url === "string" && url !== "" ? { link: url } : undefined;
}

/** Letters of base64 that show the type of an image. */
const BEGINNING = 64;
