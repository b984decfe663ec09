import { DEFAULT_GROUP, type PriceList } from "./billing/pricing.js";
import { GatewayError, isGatewayError } from "./errors.js";
import type { GatewayRequest, GatewayResponse } from "./exchange.js";
import { type GenerateParts, generateImages } from "./generate-images.js";
import type { Operation, ResponseFormat } from "./image-request.js";
import type { SecretMask } from "./mask-secrets.js";
import type { Authenticator } from "./request/authenticate.js";
import { normalizeRequest } from "./request/normalize-request.js";
import { readJson } from "./request/read-json.js";
import { renderError } from "./response/error-response.js";
import { renderImages } from "./response/images-response.js";
import type { ModelResolver } from "./routing/resolve-model.js";

/** What the pipeline is wired from, once, by `createGateway`. */
export interface PipelineParts extends GenerateParts {
  readonly authenticate: Authenticator;
  readonly resolveModel: ModelResolver;
  /** `undefined` without `billing`. */
  readonly prices: PriceList | undefined;
  readonly responseFormat: ResponseFormat | undefined;
  readonly maxJsonBytes: number;
  readonly createId: () => string;
  /** Takes every channel's key out of an error's text. */
  readonly mask: SecretMask;
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
    const body = await readJson(request, parts.maxJsonBytes);
    const model = parts.resolveModel(body["model"], caller);
    const imageRequest = normalizeRequest(body, {
      operation,
      model,
      caller,
      responseFormat: parts.responseFormat,
    });
    const group = caller.group ?? DEFAULT_GROUP;
    const price = parts.prices?.find(model.name, group);
    checkPresence(request.signal);
    const order = { id, receivedAt, caller: caller.id, group, model: model.name, operation, price };
    const result = await generateImages(parts, imageRequest, model, order);
    const now = Math.floor(parts.now() / 1000);
    return renderImages(result, { requestId: id, now, ignored: imageRequest.ignored });
  } catch (error) {
    if (isGatewayError(error)) return renderError(error, id, parts.mask);
    parts.logger.error(
      { requestId: id, err: error },
      "A request failed in the gateway or in a function of yours.",
    );
    return renderError(
      new GatewayError("internal_error", "The gateway failed.", { cause: error }),
      id,
      parts.mask,
    );
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
