import { type ChannelTest, testChannel } from "./channel-test/test-channel.js";
import type { ChannelTestOptions } from "./channel-test/test-request.js";
import { type Configuration, configure } from "./configuration.js";
import type { Environment } from "./environment.js";
import { GatewayError } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import type { Gateway } from "./gateway.js";
import type { Operation } from "./image-request.js";
import { createLastingParts } from "./lasting-parts.js";
import { createMaintenance } from "./maintenance.js";
import { checkFixedOptions } from "./options/check-options.js";
import { loadOptions } from "./options/load-options.js";
import type { GatewayOptions } from "./options/options.js";
import { holdHost, type PipelineParts, runPipeline } from "./pipeline.js";
import { createReloadable } from "./reloadable.js";
import { createRouteMatcher } from "./request/match-route.js";
import { type Arrival, createArrival, createRequestReport } from "./request-report.js";
import { renderError } from "./response/error-response.js";
import { healthIdsOf } from "./routing/channel.js";
import { describeChannel } from "./routing/channel-status.js";
import { shutDown } from "./shut-down.js";
import { createUnderWay } from "./under-way.js";
import { toWebResponse } from "./web-response.js";

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
 *   apiKeys: [{ id: "me", key: process.env.CALOTYPE_API_KEY }],
 * });
 * const response = await gateway.fetch(new Request("http://localhost/v1/images/generations", { method: "POST" }));
 * // response.status === 401
 * ```
 */
export function createGateway(options: GatewayOptions, environment: Partial<Environment> = {}): Gateway {
  const now = environment.now ?? Date.now;
  const loaded = loadOptions(options);
  if (loaded instanceof Promise) {
    // Where the check throws, nobody reads them.
    loaded.catch(() => undefined);
    checkFixedOptions(options);
  }
  const first =
    loaded instanceof Promise ? loaded.then((read) => configure(read, now)) : configure(loaded, now);
  const underWay = createUnderWay();
  const lasting = createLastingParts(options, environment, (work) => underWay.track(work));
  const onLost = options.billing?.onLost ?? "release";
  const maintenance = createMaintenance({ ...lasting, onLost });
  const wire = (configuration: Configuration): WiredParts => ({ ...lasting, ...configuration });
  const wired = createReloadable(
    first instanceof Promise ? first.then(wire) : wire(first),
    async () => wire(configure(await loadOptions(options), now)),
    ({ channels }) => lasting.health.retain(healthIdsOf(channels)),
  );
  const matchRoute = createRouteMatcher(options.basePath ?? "");
  let closing: Promise<void> | undefined;

  const refuse = (error: GatewayError): GatewayResponse =>
    renderError(error, { id: lasting.createId(), mask: wired.current?.maskKeys ?? String });

  /** The answer to a request that no pipeline runs. */
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

  const testById = async (id: string, testOptions: ChannelTestOptions): Promise<ChannelTest> => {
    const parts = await wired.get();
    const channel = parts.channels.find((other) => other.id === id);
    if (channel === undefined) throw new GatewayError("model_not_found", `There is no channel ${id}.`);
    return testChannel(channel, testOptions, parts);
  };

  const handle: Gateway["handle"] = (request) => {
    const operation = matchRoute(request.url);
    if (operation === undefined) return null;
    if (closing !== undefined) return Promise.resolve(fail(closedError(), createArrival(lasting, operation)));
    maintenance.start();
    const { current } = wired;
    const answer = current ? runPipeline(current, operation, request) : runWhenRead(operation, request);
    underWay.track(answer);
    holdHost(request, answer, lasting.logger);
    return answer;
  };

  return {
    basePath: options.basePath ?? "",
    handle,
    notFound: () => refuse(notFoundError()),
    async fetch(request, host = {}) {
      const { method, url, headers, body } = request;
      const answer = handle({
        method,
        url,
        headers,
        body,
        bodyConsumed: request.bodyUsed,
        // A signal follows the client only as long as its Request is held.
        get signal() {
          return request.signal;
        },
        // Of the host's own: the contexts of Workers take no call without themselves.
        waitUntil: host.waitUntil && ((work) => host.waitUntil?.(work)),
      });
      return toWebResponse(await (answer ?? refuse(notFoundError())), request);
    },
    status: () => ({
      channels: (wired.current?.channels ?? []).map((channel) => describeChannel(channel, lasting.health)),
    }),
    test(id, testOptions = {}) {
      if (closing !== undefined) return Promise.reject(closedError());
      const test = testById(id, testOptions);
      underWay.track(test);
      return test;
    },
    usage: lasting.ledger,
    reload: () => wired.reload(),
    close({ deadlineSeconds = Infinity } = {}) {
      // A deadline that is no number, such as of a missing variable, must not cut everything off.
      if (!(deadlineSeconds >= 0)) return Promise.reject(new RangeError(DEADLINE));
      closing ??= shutDown({ ...lasting, underWay, maintenance, onLost }, deadlineSeconds * 1000);
      return closing;
    },
  };
}

const DEADLINE = "deadlineSeconds must be a number of seconds of at least 0; the gateway was not closed.";

type WiredParts = PipelineParts & Configuration;

function notFoundError(): GatewayError {
  return new GatewayError(
    "not_found",
    "No such path. The gateway serves POST /v1/images/generations, /v1/images/edits and /api/v3/images/generations.",
  );
}

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
