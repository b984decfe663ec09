import { applyBodyFault } from "./faults/apply-body-fault.js";
import { ConnectionCut } from "./faults/connection-cut.js";
import type { Fault } from "./faults/fault.js";
import { readLimited } from "./http/read-limited.js";
import { isJsonObject, parseJson } from "./json.js";
import type { Provider } from "./provider.js";
import { createRandom, randomSeed } from "./random.js";
import { recordRequest } from "./recorder.js";
import { Refusal } from "./refusal.js";
import type { Services } from "./services.js";
import { hangUntilAborted, sleep } from "./sleep.js";

/** Fourteen references of 30 MB do not fit, but no test should need them. */
const maxBodyBytes = 128 * 1024 * 1024;

interface ReceivedRequest {
  readonly request: Request;
  readonly origin: string;
  readonly requestId: string;
  readonly body: unknown;
  readonly isTooLarge: boolean;
}

/**
 * Handles a call of the generation path of either provider: records the request, checks the key, applies the fault, and
 * makes the images. Links in the response have this origin.
 */
export async function handleCall(
  provider: Provider,
  request: Request,
  { origin, services }: { origin: string; services: Services },
): Promise<Response> {
  const startedAt = performance.now();
  const requestId = provider.createRequestId(services);
  const bytes = await readLimited(request.body, maxBodyBytes);
  const bodyText = bytes?.toString("utf8") ?? "";
  const body = parseJson(bodyText);
  recordRequest({ request, route: provider.name, services, body, bodyText });

  const received = { request, origin, requestId, body, isTooLarge: bytes === undefined };
  const response = await keepAlive(request, () => respondOrRefuse(provider, received, services));
  response.headers.set("x-request-id", requestId);
  if (provider.costTimeHeader !== undefined) {
    response.headers.set(provider.costTimeHeader, String(Math.round(performance.now() - startedAt)));
  }
  return response;
}

const alive = new Set<Request>();

/** Keeps a reference to the request, because a `Request` that was garbage collected no longer aborts its signal. */
async function keepAlive(request: Request, task: () => Promise<Response>): Promise<Response> {
  alive.add(request);
  try {
    return await task();
  } finally {
    alive.delete(request);
  }
}

async function respondOrRefuse(
  provider: Provider,
  received: ReceivedRequest,
  services: Services,
): Promise<Response> {
  const { request, body, requestId } = received;
  if (!isKeyAccepted(request, provider.acceptedKeys(services))) {
    return provider.renderRefusal(provider.wrongKey(), requestId);
  }
  const fault = services.faults.take(provider.name, isJsonObject(body) ? body.model : undefined);
  // Each request has its own random numbers, because requests run at the same time.
  const random = createRandom(randomSeed(services.faultRandom));
  let response: Response;
  try {
    response = await respond(provider, received, { fault, services });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    response = provider.renderRefusal(error, requestId);
  }
  return fault.body === undefined ? response : applyBodyFault(response, fault.body, { request, random });
}

async function respond(
  provider: Provider,
  { request, body, requestId, origin, isTooLarge }: ReceivedRequest,
  { fault, services }: { fault: Fault; services: Services },
): Promise<Response> {
  await sleep(fault.latencyMs ?? 0, request.signal);
  if (fault.hang === true) return hangUntilAborted(request.signal);
  if (fault.hangUp === true) throw new ConnectionCut("fetch failed");
  refuseByFault(provider, fault);
  if (fault.emptyBody === true) return new Response(null, { status: fault.status ?? 200 });
  if (isTooLarge) throw provider.bodyTooLarge();
  if (!isJsonObject(body)) throw provider.bodyNotJson();
  const response = await provider.generate({ requestId, origin, request, body, fault }, services);
  return fault.malformedJson === true ? cutInHalf(response, fault.status) : response;
}

function isKeyAccepted(request: Request, accepted: readonly string[] | undefined): boolean {
  const key = /^Bearer\s+(\S.*)$/i.exec(request.headers.get("authorization") ?? "")?.[1]?.trim();
  return key !== undefined && (accepted === undefined || accepted.includes(key));
}

function refuseByFault(provider: Provider, fault: Fault): void {
  if (fault.wrongKey === true) throw provider.wrongKey();
  const { code, status, message, retryAfterSeconds } = fault;
  const hasOtherOutcome =
    fault.malformedJson ?? fault.emptyBody ?? fault.streamErrorAfterImages !== undefined;
  if (hasOtherOutcome || (code === undefined && status === undefined)) return;
  throw new Refusal({
    code: code ?? provider.codeForStatus(status ?? 500),
    status,
    message,
    retryAfterSeconds,
  });
}

/** The first half of the JSON. In a stream: the first half of the first event. */
async function cutInHalf(response: Response, status = response.status): Promise<Response> {
  const text = await response.text();
  const end = text.indexOf("\n\n");
  const half = Math.floor((end === -1 ? text.length : end) / 2);
  return new Response(text.slice(0, half), { status, headers: response.headers });
}
