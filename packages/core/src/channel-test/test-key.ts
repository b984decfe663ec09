import { type GatewayError, isGatewayError } from "../errors.js";
import type { ImageRequest, ImageResult, Usage } from "../image-request.js";
import { findNoImageError } from "../job/no-image-error.js";
import { sendToRoute } from "../job/send-to-route.js";
import type { Logger } from "../logger.js";
import type { SecretMask } from "../mask-secrets.js";
import { beginRoute } from "../routing/begin-route.js";
import type { ChannelHealth } from "../routing/channel-health.js";
import type { Route } from "../routing/channel.js";
import type { AttemptFailure } from "../upstream-failure.js";
import { maskFailure } from "../upstream/attempt-failure.js";
import { readAnswer } from "../upstream/read-answer.js";
import type { Transport, TransportResponse } from "../upstream/transport.js";

/** How one key of a channel fared in a test. */
export type KeyProbe =
  | {
      readonly ok: true;
      /** Its place in `apiKey`, from 0. */
      readonly index: number;
      readonly images: number;
      readonly usage: Usage | undefined;
      readonly durationMs: number;
    }
  | {
      readonly ok: false;
      readonly index: number;
      /** As in the channel's status, or `content`: the provider is well, and made no image of the request. */
      readonly reason: string;
      /** The HTTP status, when the provider answered. */
      readonly status: number | undefined;
      /** The provider's error code, when it gave one. */
      readonly code: string | undefined;
      /** What the provider said, or what became of the connection. Keys are masked. */
      readonly message: string | undefined;
      readonly durationMs: number;
    };

/** What the test of a key needs of the gateway. */
export interface KeyProbeParts {
  readonly transport: Transport;
  readonly logger: Logger;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly health: ChannelHealth;
  /** Takes keys out of what a provider said. */
  readonly mask: SecretMask;
  readonly maxResponseBytes: number;
}

/** Sends the request with one key, and tells the health of the key and its channel how it went. */
export async function probeKey(route: Route, request: ImageRequest, parts: KeyProbeParts): Promise<KeyProbe> {
  const { index } = route.key;
  const startedAt = parts.now();
  const begun = beginRoute(parts.health, route, true);
  const outcome = await tryKey(route, request, parts);
  const durationMs = parts.now() - startedAt;
  if (outcome.failure !== undefined) {
    begun.failed(outcome.failure);
    const { kind, status, code, message, cause } = maskFailure(outcome.failure, parts.mask);
    const shown = message ?? parts.mask(findMessage(cause));
    return { ok: false, index, reason: kind, status, code, message: shown || undefined, durationMs };
  }
  begun.succeeded();
  const { images, usage } = outcome.result;
  return { ok: true, index, images: images.length, usage, durationMs };
}

type KeyOutcome =
  | { readonly result: ImageResult; readonly failure?: undefined }
  | { readonly failure: AttemptFailure };

async function tryKey(route: Route, request: ImageRequest, parts: KeyProbeParts): Promise<KeyOutcome> {
  const { channel } = route;
  const sent = await sendToRoute(route, request, parts);
  if (sent.failure !== undefined) return { failure: sent.failure };
  const { response } = sent;
  try {
    const { value } = await readAnswer(response, { maxBytes: parts.maxResponseBytes });
    const result = channel.family.fromUpstream(value, request);
    const error = findNoImageError(result.images.length, result);
    return error === undefined ? { result } : { failure: toFailure(error, response) };
  } catch (cause) {
    const kind = isGatewayError(cause) && cause.code === "upstream_timeout" ? "timeout" : "broken";
    return { failure: { kind, status: response.status, cause } };
  }
}

function toFailure({ upstreamCode, message }: GatewayError, { status }: TransportResponse): AttemptFailure {
  return { kind: "content", status, code: upstreamCode, message };
}

/** The innermost message: what the network said rather than that it failed. */
function findMessage(cause: unknown): string {
  if (!(cause instanceof Error)) return "";
  return findMessage(cause.cause) || cause.message;
}
