import { carryBody } from "./faults/carry-body.js";
import { ConnectionCut } from "./faults/connection-cut.js";
import type { Fault } from "./faults/fault.js";
import { readLimited } from "./http/read-limited.js";
import { isJsonObject, parseJson } from "./json.js";
import type { Provider } from "./provider.js";
import { createRandom, randomSeed } from "./random.js";
import { recordRequest } from "./record-request.js";
import { Refusal } from "./refusal.js";
import type { Services } from "./services.js";
import { hangUntilAborted, sleep } from "./sleep.js";

/** Fourteen references of 30 MB do not fit; nobody should have to send them to this machine. */
const maxBodyBytes = 128 * 1024 * 1024;

interface Arrival {
  readonly request: Request;
  readonly origin: string;
  readonly requestId: string;
  readonly body: unknown;
  readonly isTooLarge: boolean;
}

/** The path of a generation request, the same with both providers: record, check the key, meet a fault, generate. */
export async function answerCall(
  provider: Provider,
  request: Request,
  origin: string,
  services: Services,
): Promise<Response> {
  const startedAt = performance.now();
  const requestId = provider.createRequestId(services);
  const bytes = await readLimited(request.body, maxBodyBytes);
  const bodyText = bytes?.toString("utf8") ?? "";
  const body = parseJson(bodyText);
  recordRequest({ request, route: provider.name, services, body, bodyText });

  const arrival = { request, origin, requestId, body, isTooLarge: bytes === undefined };
  const response = await holding(request, () => answerOrRefuse(provider, arrival, services));
  response.headers.set("x-request-id", requestId);
  if (provider.costTimeHeader !== undefined) {
    response.headers.set(provider.costTimeHeader, String(Math.round(performance.now() - startedAt)));
  }
  return response;
}

const held = new Set<Request>();

/** Keeps a request from becoming garbage while it hangs: nobody could tell it then that the client left. */
async function holding(request: Request, task: () => Promise<Response>): Promise<Response> {
  held.add(request);
  try {
    return await task();
  } finally {
    held.delete(request);
  }
}

async function answerOrRefuse(provider: Provider, arrival: Arrival, services: Services): Promise<Response> {
  const { request, body, requestId } = arrival;
  if (!isKeyAccepted(request, provider.acceptedKeys(services))) {
    return provider.renderRefusal(provider.wrongKey(), requestId);
  }
  const fault = services.faults.take(provider.name, isJsonObject(body) ? body.model : undefined);
  // A sequence of the request's own: others may be answered at the same time.
  const random = createRandom(randomSeed(services.faultRandom));
  const response = await withRefusals(provider, requestId, () =>
    answer(provider, arrival, { fault, services }),
  );
  return fault.body === undefined ? response : carryBody(response, fault.body, { request, random });
}

async function withRefusals(
  provider: Provider,
  requestId: string,
  task: () => Promise<Response>,
): Promise<Response> {
  try {
    return await task();
  } catch (error) {
    if (error instanceof Refusal) return provider.renderRefusal(error, requestId);
    throw error;
  }
}

async function answer(
  provider: Provider,
  { request, body, requestId, origin, isTooLarge }: Arrival,
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
  return fault.malformedJson === true ? breakOff(response, fault.status) : response;
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

/** The same answer, cut in the middle of its JSON: of a stream, in the middle of its first event. */
async function breakOff(response: Response, status = response.status): Promise<Response> {
  const text = await response.text();
  const end = text.indexOf("\n\n");
  const half = Math.floor((end === -1 ? text.length : end) / 2);
  return new Response(text.slice(0, half), { status, headers: response.headers });
}
