import { createTransport } from "#transport";
import { createBackgroundReads } from "./background-reads.js";
import { createPriceList } from "./billing/pricing.js";
import { checkOptions } from "./check-options.js";
import { GatewayError } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import { consoleLogger, createSafeLogger, type Logger } from "./logger.js";
import { createKeyMask, createSecretMask } from "./mask-secrets.js";
import { DEFAULT_BODY_LIMITS, DEFAULT_MAX_ANSWER_BYTES, type GatewayOptions } from "./options.js";
import { holdHost, type PipelineParts, runPipeline } from "./pipeline.js";
import { createAuthenticator, findByHash } from "./request/authenticate.js";
import { createRouteMatcher } from "./request/match-route.js";
import { renderError } from "./response/error-response.js";
import { createChannel } from "./routing/channel.js";
import { type ChannelStatus, createChannelHealth, DEFAULT_HEALTH_POLICY } from "./routing/channel-health.js";
import { createModelResolver } from "./routing/resolve-model.js";
import { createRetryBudget, DEFAULT_RETRY_BUDGET } from "./routing/retry-budget.js";
import { createFetchTransport } from "./upstream/fetch-transport.js";
import type { Transport } from "./upstream/transport.js";
import { toWebResponse } from "./web-response.js";

/** An image-generation gateway. */
export interface Gateway {
  /** What stands before every path of the gateway; `""` when nothing does. */
  readonly basePath: string;
  /**
   * Answers any request; a path that is not the gateway's with 404. Never rejects.
   *
   * @param host `waitUntil` of hosts that stop a process with its answer, such as Workers
   */
  fetch(request: Request, host?: Pick<GatewayRequest, "waitUntil">): Promise<Response>;
  /**
   * For adapters: answers a request of one of the gateway's paths, and gives `null` at once, with
   * nothing read, for any other path, so that the host can go on. The promise never rejects.
   */
  handle(request: GatewayRequest): Promise<GatewayResponse> | null;
  /** The answer for a path that nobody serves, for hosts that have none of their own. */
  notFound(): GatewayResponse;
  /** How the channels are, in the order of the options. */
  status(): GatewayStatus;
  /** Takes no new request, waits until those under way are settled, and ends the connections to the providers. */
  close(): Promise<void>;
}

/** What `gateway.status()` tells. */
export interface GatewayStatus {
  readonly channels: readonly ChannelStatus[];
}

/** Time, chance and transport, for tests that need them fixed. */
export interface Environment {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** A number from 0 up to, not including, 1. */
  readonly random: () => number;
  readonly createId: () => string;
  readonly transport: Transport;
}

/** Streams that are read on after their clients left. */
const BACKGROUND_READS = { streams: 1_000, ms: 900_000 };

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
  const underWay = new Set<Promise<unknown>>();
  const track = (work: Promise<unknown>): void => {
    underWay.add(work);
    const forget = (): void => void underWay.delete(work);
    work.then(forget, forget);
  };
  const parts = createParts(options, environment, track);
  const basePath = options.basePath ?? "";
  const matchRoute = createRouteMatcher(basePath);
  let closing: Promise<void> | undefined;

  const finish = async (): Promise<void> => {
    while (underWay.size > 0) await Promise.all(underWay);
    await parts.transport.close();
  };

  const refuse = (error: GatewayError): GatewayResponse =>
    renderError(error, { id: parts.createId(), mask: parts.maskKeys });

  const handle: Gateway["handle"] = (request) => {
    const operation = matchRoute(request.url);
    if (operation === undefined) return null;
    if (closing !== undefined) return Promise.resolve(refuse(closedError()));
    const answer = runPipeline(parts, operation, request);
    track(answer);
    holdHost(request, answer, parts.logger);
    return answer;
  };

  return {
    basePath,
    handle,
    notFound: () => refuse(notFoundError()),
    async fetch(request, { waitUntil } = {}) {
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
        waitUntil,
      });
      return toWebResponse(await (answer ?? refuse(notFoundError())), request);
    },
    status: () => ({ channels: options.channels.map(({ id }) => parts.health.status(id)) }),
    close() {
      closing ??= finish();
      return closing;
    },
  };
}

function createParts(
  options: GatewayOptions,
  environment: Partial<Environment>,
  track: PipelineParts["track"],
): PipelineParts {
  const families = checkOptions(options);
  const now = environment.now ?? Date.now;
  const logger = createSafeLogger(options.logger ?? consoleLogger);
  const channels = options.channels.flatMap((channel) => {
    const family = families.get(channel.family);
    return family === undefined ? [] : [createChannel(channel, family)];
  });
  const secrets = channels.flatMap(({ apiKey, headers }) => [apiKey, ...Object.values(headers)]);
  return {
    authenticate: createAuthenticator(options.authenticate ?? findByHash(options.apiKeys ?? [])),
    resolveModel: createModelResolver(options.models, families, channels),
    prices: options.billing && createPriceList(options.billing),
    responseFormat: options.responseFormat,
    bodyLimits: {
      json: options.bodyLimits?.json ?? DEFAULT_BODY_LIMITS.json,
      form: options.bodyLimits?.form ?? DEFAULT_BODY_LIMITS.form,
      file: options.bodyLimits?.file ?? DEFAULT_BODY_LIMITS.file,
    },
    heartbeatMs: options.heartbeatSeconds && options.heartbeatSeconds * 1000,
    backgroundReads: createBackgroundReads(BACKGROUND_READS),
    track,
    maxAnswerBytes: options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES,
    report: createReporter(options.onUsage, logger),
    mask: createSecretMask(secrets),
    maskKeys: createKeyMask(secrets),
    logger,
    now,
    health: createChannelHealth(now, DEFAULT_HEALTH_POLICY),
    retryBudget: createRetryBudget(now, DEFAULT_RETRY_BUDGET),
    random: environment.random ?? Math.random,
    createId: environment.createId ?? (() => `req_${crypto.randomUUID().replaceAll("-", "")}`),
    transport:
      environment.transport ?? (options.fetch ? createFetchTransport(options.fetch) : createTransport()),
  };
}

/** Hands records to the operator's function; a failing one is logged and breaks no request. */
function createReporter(onUsage: GatewayOptions["onUsage"], logger: Logger): PipelineParts["report"] {
  return async (record) => {
    if (record.unpriced === true) {
      logger.warn({ requestId: record.id, model: record.model }, "No tokens were reported: the charge is 0.");
    }
    try {
      await onUsage?.(record);
    } catch (error) {
      logger.error({ requestId: record.id, err: error }, "onUsage failed.");
    }
  };
}

function notFoundError(): GatewayError {
  return new GatewayError(
    "not_found",
    "No such path. The gateway serves POST /v1/images/generations, /v1/images/edits and /api/v3/images/generations.",
  );
}

function closedError(): GatewayError {
  return new GatewayError("gateway_closed", "This server is shutting down.", { retryAfterSeconds: 1 });
}
