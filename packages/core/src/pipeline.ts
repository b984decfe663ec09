import { DEFAULT_GROUP, type PriceList } from "./billing/pricing.js";
import { GatewayError, isGatewayError } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import type { Operation, ResponseFormat } from "./image-request.js";
import type { JobParts } from "./job.js";
import type { Logger } from "./logger.js";
import type { SecretMask } from "./mask-secrets.js";
import type { Authenticator } from "./request/authenticate.js";
import { normalizeRequest } from "./request/normalize-request.js";
import { type BodyLimits, readFields } from "./request/read-fields.js";
import { renderError } from "./response/error-response.js";
import type { ModelResolver } from "./routing/resolve-model.js";
import { runJob } from "./run-job.js";

/** What the pipeline is wired from, once, by `createGateway`. */
export interface PipelineParts extends JobParts {
  readonly authenticate: Authenticator;
  readonly resolveModel: ModelResolver;
  /** `undefined` without `billing`. */
  readonly prices: PriceList | undefined;
  readonly responseFormat: ResponseFormat | undefined;
  readonly bodyLimits: BodyLimits;
  readonly createId: () => string;
  /** Takes our keys out of what the gateway says itself. */
  readonly maskKeys: SecretMask;
  /** Holds `gateway.close()` until the work is done. */
  readonly track: (work: Promise<unknown>) => void;
}

/** One request from its arrival to its answer. Never rejects: every failure is an answer. */
export async function runPipeline(
  parts: PipelineParts,
  operation: Operation,
  request: GatewayRequest,
): Promise<GatewayResponse> {
  const id = parts.createId();
  const receivedAt = parts.now();
  try {
    checkMethod(request.method);
    const caller = await parts.authenticate(request.headers);
    const fields = await readFields(request, operation, parts.bodyLimits);
    const model = parts.resolveModel(fields["model"], caller, operation);
    const imageRequest = normalizeRequest(fields, {
      operation,
      model,
      caller,
      responseFormat: parts.responseFormat,
    });
    const group = caller.group ?? DEFAULT_GROUP;
    const price = parts.prices?.find(model.name, group);
    checkPresence(request.signal);
    const order = { id, receivedAt, caller: caller.id, group, model: model.name, operation, price };
    const keepAlive = (work: Promise<unknown>): void => {
      parts.track(work);
      holdHost(request, work, parts.logger);
    };
    return await runJob(parts, { id, request: imageRequest, model, order, keepAlive });
  } catch (error) {
    const context = { id, mask: parts.maskKeys, native: operation === "native" };
    if (isGatewayError(error)) return renderError(error, context);
    parts.logger.error(
      { requestId: id, err: error },
      "A request failed in the gateway or in a function of yours.",
    );
    return renderError(new GatewayError("internal_error", "The gateway failed.", { cause: error }), context);
  }
}

/** A host that takes no work any more must not fail what is done already. */
export function holdHost({ waitUntil }: GatewayRequest, work: Promise<unknown>, logger: Logger): void {
  try {
    waitUntil?.(work);
  } catch (error) {
    logger.warn({ err: error }, "The host's waitUntil failed.");
  }
}

function checkMethod(method: string): void {
  if (method === "POST") return;
  throw new GatewayError("method_not_allowed", `${method} is not allowed here: send POST.`, {
    headers: { allow: "POST" },
  });
}

/** The last moment at which a client that left costs nothing. A call once sent runs on. */
function checkPresence(signal: AbortSignal): void {
  if (signal.aborted) throw new GatewayError("client_closed_request", "The client left.");
}
