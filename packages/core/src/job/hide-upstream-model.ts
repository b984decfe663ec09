import type { ImageRequest } from "../image-request.js";
import type { SecretMask } from "../mask-secrets.js";

/**
 * A provider's message may name the model or endpoint that the operator mapped the request to (Ark: `The model or
 * endpoint ep-… does not exist`). On `/v1` the client knows the service name only; on `/api/v3` bodies are the
 * provider's own.
 */
export function hideUpstreamModel(
  message: string,
  upstreamModel: string,
  { model, operation }: Pick<ImageRequest, "model" | "operation">,
): string {
  if (operation === "native" || upstreamModel === model) return message;
  // Only where it is a whole name, and not a part of another one.
  const names = new RegExp(`(?<![\\w.-])${escapeForRegExp(upstreamModel)}(?![\\w-])`, "g");
  return message.replace(names, () => model);
}

/** The mask for the reasons in a response that came with a 2xx status: keys and the provider's name of the model. */
export function createReasonMask(
  mask: SecretMask,
  upstreamModel: string,
  { model, operation }: Pick<ImageRequest, "model" | "operation">,
): SecretMask {
  return (text) => hideUpstreamModel(mask(text), upstreamModel, { model, operation });
}

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
