import { type Dependencies, type Wiring, wireGateway } from "./assemble.js";
import type { UsageReports } from "./billing/ledger.js";
import { type ChannelStatus, describeChannels } from "./channels/status.js";
import { GatewayError } from "./errors.js";
import { type Arrival, createArrival, createRequestReport } from "./events.js";
import type { GatewayRequest, GatewayResponse } from "./http.js";
import { shutDown } from "./lifecycle.js";
import type { GatewayOptions } from "./options/options.js";
import { holdHost, runPipeline } from "./pipeline.js";
import { createRouteMatcher, type RouteMatcher, requestPath } from "./request/route.js";
import { exposeHeaders, renderError } from "./responses/envelope.js";
import type { Operation } from "./types.js";
import { type ChannelProbe, type ChannelProbeOptions, probeChannel } from "./upstream/probe-channel.js";

/** An image-generation gateway. */
export interface Gateway {
  /** What stands before every path of the gateway; `""` when nothing does. */
  readonly basePath: string;
  /**
   * Responds to any request; with 404 if the path is not one of the gateway's. Never rejects.
   *
   * @param host `waitUntil` of hosts that stop a process after its response, such as Workers; `mountPath` if the
   * host has a path of its own before the gateway's. Default mount path: `/`.
   */
  fetch(request: Request, host?: Pick<GatewayRequest, "waitUntil" | "mountPath">): Promise<Response>;
  /**
   * For adapters: responds to a request for one of the gateway's paths. For any other path it returns `null` at once
   * and has read nothing, so that the host can call its next handler. The promise never rejects.
   */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** Returns the 404 for a path that no route serves, for hosts without a 404 of their own. */
  notFound(request: Pick<GatewayRequest, "method" | "url" | "headers">): GatewayResponse;
  /** How the channels are, in the order of the options; none before options that take time are read. */
  status(): GatewayStatus;
  /**
   * Asks a channel for one small picture with each of its keys, which the provider charges. A success ends a
   * cooldown, so that an account that was mended is used again at once.
   *
   * @throws GatewayError `model_not_found` where the channel or its model is not known, `invalid_request_error`,
   * `gateway_closed`
   */
  probeChannel(channel: string, options?: ChannelProbeOptions): Promise<ChannelProbe>;
  /** What was used and charged, and what callers have under way: the ledger, for reading. */
  readonly usage: UsageReports;
  /**
   * Reads the options anew that were given as functions, and takes them over where all are right; requests under
   * way go on with what they began with. Called once at start it also tells whether such options are right.
   *
   * @throws GatewayOptionsError, or what a function threw; then everything stays as it was
   */
  reload(): Promise<void>;
  /**
   * Takes no new request, waits until those under way are settled, hands the records that wait to `onUsage`, and
   * ends the connections to the providers. A ledger or a store of yours stays open.
   *
   * @throws RangeError for a deadline that is no number of at least 0; then nothing is closed
   */
  close(options?: CloseOptions): Promise<void>;
}

/** How long a gateway may take to close. */
export interface CloseOptions {
  /**
   * After so many seconds what is still under way is cut off: its holds become unresolved records, charged as
   * `billing.onLost` says. `onUsage` then has three seconds for the records that wait. Default: no deadline.
   */
  readonly deadlineSeconds?: number | undefined;
}

/** What `gateway.status()` tells. */
export interface GatewayStatus {
  readonly channels: readonly ChannelStatus[];
}

/**
 * Builds a gateway: validates the options once and wires the parts.
 *
 * @throws GatewayOptionsError with every problem of the options and its path
 * @example
 * ```ts
 * import { createGateway } from "@calotype/core";
 *
 * const gateway = createGateway({
 *   models: { "seedream-4-5-251128": { family: "seedream" } },
 *   channels: [
 *     {
 *       id: "ark",
 *       family: "seedream",
 *       apiKey: process.env.ARK_API_KEY,
 *       modelMapping: { "seedream-4-5-251128": "doubao-seedream-4-5-251128" },
 *     },
 *   ],
 *   callers: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const response = await gateway.fetch(new Request("http://localhost/v1/images/generations", { method: "POST" }));
 * // response.status === 401
 * ```
 */
export function createGateway(options: GatewayOptions, dependencies: Partial<Dependencies> = {}): Gateway {
  const wiring = wireGateway(options, dependencies);
  const { lasting, wired, underWay } = wiring;
  const basePath = options.basePath ?? "";
  let closing: Promise<void> | undefined;
  const matchRoute = createRouteMatcher(basePath);
  const notFound: Gateway["notFound"] = (request) => {
    const context = { id: lasting.createId(), mask: wired.current?.maskKeys ?? String };
    return exposeHeaders(request, renderError(notFoundError(request, basePath), context));
  };
  const handle = createRequestHandler(wiring, { matchRoute, notFound }, () => closing !== undefined);

  return {
    basePath,
    handle,
    notFound,
    async fetch(request, host = {}) {
      const asked = toGatewayRequest(request, host);
      return toWebResponse(await (handle(asked) ?? notFound(asked)), request);
    },
    status: () => ({ channels: describeChannels(wired.current?.channels ?? [], lasting.health) }),
    probeChannel(id, probeOptions = {}) {
      if (closing !== undefined) return Promise.reject(closedError());
      const probe = probeById(wiring, id, probeOptions);
      underWay.track(probe);
      return probe;
    },
    usage: lasting.ledger,
    reload: () => wired.reload(),
    close({ deadlineSeconds = Infinity } = {}) {
      // A deadline that is no number, such as of a missing variable, must not cut everything off.
      if (!(deadlineSeconds >= 0)) return Promise.reject(new RangeError(DEADLINE));
      closing ??= shutDown({ ...lasting, ...wiring }, deadlineSeconds * 1000);
      return closing;
    },
  };
}

const DEADLINE = "deadlineSeconds must be a number of seconds of at least 0; the gateway was not closed.";

/** A Web `Request` in the shape that hosts of all kinds give. */
function toGatewayRequest(
  request: Request,
  host: Pick<GatewayRequest, "waitUntil" | "mountPath">,
): GatewayRequest {
  const { method, url, headers, body } = request;
  return {
    method,
    url,
    mountPath: host.mountPath ?? "/",
    headers,
    body,
    bodyConsumed: request.bodyUsed,
    // A signal follows the client only as long as its Request is held.
    get signal() {
      return request.signal;
    },
    // Called as a method of `host`: the context of a Worker rejects a call on another object.
    waitUntil: host.waitUntil && ((work) => host.waitUntil?.(work)),
  };
}

async function probeById({ wired }: Wiring, id: string, options: ChannelProbeOptions): Promise<ChannelProbe> {
  const parts = await wired.get();
  const channel = parts.channels.find((other) => other.id === id);
  if (channel === undefined) throw new GatewayError("model_not_found", `There is no channel ${id}.`);
  return probeChannel(channel, options, parts);
}

function notFoundError(request: Pick<GatewayRequest, "method" | "url">, basePath: string): GatewayError {
  const asked = `${request.method} ${requestPath(request)}`.slice(0, 256);
  const below = basePath === "" ? "" : ` below ${basePath}`;
  return new GatewayError(
    "not_found",
    `${asked} is not served. The gateway serves POST requests whose path ends in /v1/images/generations, ` +
      `/v1/images/edits or /api/v3/images/generations${below}.`,
  );
}

/** Responds to requests for the gateway's paths, until the gateway is closing. */
function createRequestHandler(
  { lasting, wired, underWay, maintenance }: Wiring,
  { matchRoute, notFound }: { readonly matchRoute: RouteMatcher; readonly notFound: Gateway["notFound"] },
  isClosing: () => boolean,
): Gateway["handle"] {
  /** Responds to a request that does not enter the pipeline. */
  const fail = (error: GatewayError, arrival: Arrival): GatewayResponse => {
    const report = createRequestReport({ ...lasting, maskKeys: wired.current?.maskKeys ?? String }, arrival);
    const response = report.fail(error);
    report.answered(response);
    return response;
  };

  /** For options that take time to read: a request waits for them. */
  const runWhenRead = async (operation: Operation, request: GatewayRequest): Promise<GatewayResponse> => {
    const arrival = createArrival(lasting, operation);
    try {
      return await runPipeline(await wired.get(), operation, request);
    } catch (error) {
      lasting.logger.error({ requestId: arrival.id, err: error }, "The options could not be read.");
      return fail(unreadError(), arrival);
    }
  };

  const respond = (operation: Operation, request: GatewayRequest): Promise<GatewayResponse> => {
    if (isClosing()) return Promise.resolve(fail(closedError(), createArrival(lasting, operation)));
    maintenance.start();
    const { current } = wired;
    const answer = current ? runPipeline(current, operation, request) : runWhenRead(operation, request);
    underWay.track(answer);
    holdHost(request, answer, lasting.logger);
    return answer;
  };

  return (request) => {
    const route = matchRoute(request);
    if (route === undefined) return null;
    if (route === "unserved") return Promise.resolve(notFound(request));
    const response = respond(route, request);
    // Requests without an origin skip this, so that they do not wait for one more promise.
    if (request.headers.get("origin") === null) return response;
    return response.then((sent) => exposeHeaders(request, sent));
  };
}

/** The answer of a gateway that takes no more. */
function closedError(): GatewayError {
  return new GatewayError("gateway_closed", "This server is shutting down.", { retryAfterSeconds: 1 });
}

function unreadError(): GatewayError {
  return new GatewayError(
    "gateway_unavailable",
    "This server cannot read its options at the moment: try again.",
    {
      retryAfterSeconds: 5,
    },
  );
}

/** The gateway's response as a Web `Response`. */
function toWebResponse(response: GatewayResponse, request: Request): Response {
  const { status, headers, body } = response;
  const isComplete = typeof body === "string" || body instanceof Uint8Array;
  return new Response(isComplete ? body : toStream(body, response.onIdle, request), { status, headers });
}

/**
 * A stream that reads a chunk when its consumer wants one. It is not of type `bytes`, because such a stream detaches
 * the chunk's buffer. An aborted request also ends it: some hosts then drop the response without reading or
 * cancelling it. If a host keeps the response and does not read it, the gateway's time limit ends it, and the stream
 * fails.
 */
function toStream(
  body: AsyncIterable<Uint8Array>,
  onIdle: GatewayResponse["onIdle"],
  request: Request,
): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const leave = (): void => void chunks.return?.().catch(() => undefined);
  // The listener keeps a reference to the Request: its signal follows the client only while the Request is
  // referenced.
  const forgetRequest = (): void => request.signal.removeEventListener("abort", leave);
  if (request.signal.aborted) leave();
  else request.signal.addEventListener("abort", leave, { once: true });
  return new ReadableStream({
    start(controller) {
      onIdle?.((error) => {
        forgetRequest();
        controller.error(error);
        return false;
      });
    },
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done !== true) return controller.enqueue(value);
      forgetRequest();
      controller.close();
    },
    async cancel() {
      forgetRequest();
      await chunks.return?.();
    },
  });
}
