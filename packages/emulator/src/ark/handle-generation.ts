import type { Fault } from "../faults/fault.js";
import { spoilUsage } from "../faults/spoil-usage.js";
import { jsonResponse } from "../http/json-response.js";
import type { ProviderCall } from "../provider.js";
import { Refusal } from "../refusal.js";
import type { Services } from "../services.js";
import { describeError } from "./errors.js";
import { type ImageOutcome, makeImages } from "./make-images.js";
import { type ArkRequest, readArkRequest } from "./read-request.js";
import { streamGeneration } from "./stream-generation.js";
import { usageOf } from "./usage.js";

/** `POST /api/v3/images/generations`. */
export async function handleGeneration(call: ProviderCall, services: Services): Promise<Response> {
  const request = spoilRequest(await readArkRequest(call, services), call.fault);
  if (request.stream) return streamGeneration(request, call, services);
  const outcomes: ImageOutcome[] = [];
  for await (const outcome of makeImages(request, call, services)) outcomes.push(outcome);
  refuseSingleFailure(request, outcomes);
  const made = outcomes.filter((outcome) => "image" in outcome).length;
  return jsonResponse({
    model: request.model.id,
    created: Math.floor(services.settings.now() / 1000),
    data: outcomes.map((outcome) => toElement(outcome, request, call.requestId)),
    ...(request.searches ? { tools: [{ type: "web_search" }] } : {}),
    ...spoilUsage(usageOf(made, request), call.fault),
  });
}

function spoilRequest(request: ArkRequest, { answerAs, noImages }: Fault): ArkRequest {
  const stream = answerAs === undefined ? request.stream : answerAs === "stream";
  return { ...request, stream, count: noImages === true ? 0 : request.count };
}

function toElement(outcome: ImageOutcome, request: ArkRequest, requestId: string) {
  if ("failure" in outcome) return { error: describeError(outcome.failure, requestId) };
  return { ...outcome.image, size: `${request.size.width}x${request.size.height}` };
}

/** Outside a batch there is no element to put the error in: it is the answer. */
function refuseSingleFailure(request: ArkRequest, [first]: readonly ImageOutcome[]): void {
  if (request.isBatch || first === undefined || !("failure" in first)) return;
  throw new Refusal(first.failure);
}
