import { spoilUsage } from "../faults/spoil-usage.js";
import { eventStream } from "../http/event-stream.js";
import type { ProviderCall } from "../provider.js";
import type { Services } from "../services.js";
import { describeError } from "./errors.js";
import { type ImageOutcome, makeImages } from "./make-images.js";
import type { ArkRequest } from "./read-request.js";
import { usageOf } from "./usage.js";

/** Server-sent events: one per image, `completed`, `[DONE]`. */
export function streamGeneration(request: ArkRequest, call: ProviderCall, services: Services): Response {
  return eventStream(writeEvents(request, call, services), call.fault.stream);
}

async function* writeEvents(
  request: ArkRequest,
  call: ProviderCall,
  services: Services,
): AsyncGenerator<string> {
  const { fault } = call;
  const common = { model: request.model.id, created: Math.floor(services.settings.now() / 1000) };
  if (fault.streamErrorAfterImages === 0) return yield streamError(call);
  if (fault.unknownEvents === true) {
    yield event("image_generation.partial_image", { ...common, image_index: 0, partial_image_index: 0 });
  }
  let made = 0;
  for await (const outcome of makeImages(request, call, services)) {
    yield imageEvent(outcome, { ...common, image_index: outcome.index }, request, call.requestId);
    if ("image" in outcome) made += 1;
    if (outcome.index + 1 === fault.streamErrorAfterImages) return yield streamError(call);
  }
  const tools = request.searches ? { tools: [{ type: "web_search" }] } : {};
  const end = { ...common, ...tools, ...spoilUsage(usageOf(made, request), fault) };
  for (let count = 0; count < (fault.stream?.completedEvents ?? 1); count += 1) {
    yield event("image_generation.completed", end);
  }
  if (fault.omitDone !== true) yield "data: [DONE]\n\n";
}

function imageEvent(outcome: ImageOutcome, place: object, { size }: ArkRequest, requestId: string): string {
  if ("failure" in outcome) {
    const error = describeError(outcome.failure, requestId);
    return event("image_generation.partial_failed", { ...place, error });
  }
  const image = { ...outcome.image, size: `${size.width}x${size.height}` };
  return event("image_generation.partial_succeeded", { ...place, ...image });
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** Unlike the other events it has no `type`, and nothing follows it. */
function streamError({ fault, requestId }: ProviderCall): string {
  const error = describeError(
    { code: fault.code ?? "InternalServiceError", message: fault.message },
    requestId,
  );
  return `event: error\ndata: ${JSON.stringify({ error })}\n\n`;
}
