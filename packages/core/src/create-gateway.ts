import { describeChannels } from "./channels/status.js";
import type { Dependencies } from "./dependencies.js";
import { GatewayError } from "./errors.js";
import type { GatewayRequest } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import { closedError, createRequestHandler } from "./handle-request.js";
import type { GatewayOptions } from "./options/options.js";
import { createRouteMatcher, requestPath } from "./request/route.js";
import { renderError } from "./response/error-response.js";
import { exposeHeaders } from "./response/expose-headers.js";
import { shutDown } from "./shut-down.js";
import type { ChannelProbeOptions } from "./upstream/probe-channel.js";
import { type ChannelProbe, probeChannel } from "./upstream/probe-channel.js";
import { toWebResponse } from "./web-response.js";
import { type Wiring, wireGateway } from "./wire-gateway.js";

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
