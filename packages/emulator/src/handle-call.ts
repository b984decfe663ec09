import { applyBodyFault } from "./faults/apply-body-fault.js";
import { ConnectionCut } from "./faults/connection-cut.js";
import type { Fault } from "./faults/fault.js";
import { type Form, readForm } from "./http/read-form.js";
import { readBearerKey } from "./http/read-key.js";
import { readLimited } from "./http/read-limited.js";
import { isJsonObject, type JsonObject, parseJson } from "./json.js";
import type { Operation, Provider } from "./provider.js";
import type { ProviderCall } from "./provider-call.js";
import { createRandom, randomSeed } from "./random.js";
import { recordRequest } from "./recorder.js";
import { Refusal } from "./refusal.js";
import type { Services } from "./services.js";
import { hangUntilAborted, sleep } from "./sleep.js";

/** Fourteen references of 30 MB do not fit, but no test should need them. */
const maxBodyBytes = 128 * 1024 * 1024;

/** A path of a provider that was requested, with the named groups of the path. */
export interface FoundOperation {
  readonly provider: Provider;
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
}

interface ReceivedRequest {
  readonly request: Request;
  readonly origin: string;
  readonly requestId: string;
  readonly body: unknown;
  readonly form: Form | undefined;
  readonly isTooLarge: boolean;
}

/**
 * Handles a call of an operation of any provider: records the request, checks the key, applies the fault, and responds.
 * Links in the response have this origin.
 */
export async function handleCall(
  found: FoundOperation,
  request: Request,
  { origin, services }: { origin: string; services: Services },
): Promise<Response> {
  const startedAt = performance.now();
  const { provider } = found;
  const requestId = provider.createRequestId(services);
  const bytes = await readLimited(request.body, maxBodyBytes);
  const form = await readForm(request.headers.get("content-type"), bytes ?? Buffer.alloc(0));
  const bodyText = form === undefined ? (bytes?.toString("utf8") ?? "") : "";
  const body = parseJson(bodyText);
  recordRequest({ request, route: provider.name, services, body, bodyText, parts: form?.parts });

  const received = { request, origin, requestId, body, form, isTooLarge: bytes === undefined };
  const response = await keepAlive(request, () => respondOrRefuse(found, received, services));
  const headers = provider.headersOf(requestId, Math.round(performance.now() - startedAt));
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
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
  { provider, operation, params }: FoundOperation,
  received: ReceivedRequest,
  services: Services,
): Promise<Response> {
  const { request, requestId } = received;
  if (!isKeyAccepted(request, provider, services)) {
    return renderRefusal(provider, provider.wrongKey(), requestId);
  }
  const fields = received.form?.texts ?? received.body;
  const model = params.model ?? (isJsonObject(fields) ? fields.model : undefined);
  const fault = services.faults.take(provider.name, { model, operation: operation.kind });
  // Each request has its own random numbers, because requests run at the same time.
  const random = createRandom(randomSeed(services.faultRandom));
  let response: Response;
  try {
    response = await respond({ provider, operation, params }, received, { fault, services });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    response = renderRefusal(provider, error, requestId);
  }
  return fault.body === undefined ? response : applyBodyFault(response, fault.body, { request, random });
}

function renderRefusal(provider: Provider, refusal: Refusal, requestId: string): Response {
  const response = provider.renderRefusal(refusal, requestId);
  for (const [name, value] of Object.entries(refusal.headers)) response.headers.set(name, value);
  return response;
}

async function respond(
  { provider, operation, params }: FoundOperation,
  received: ReceivedRequest,
  { fault, services }: { fault: Fault; services: Services },
): Promise<Response> {
  const { request, requestId, origin, isTooLarge } = received;
  await sleep(fault.latencyMs ?? 0, request.signal);
  if (fault.hang === true) return hangUntilAborted(request.signal);
  if (fault.hangUp === true) throw new ConnectionCut("fetch failed");
  refuseByFault(provider, fault);
  if (fault.emptyBody === true) return new Response(null, { status: fault.status ?? 200 });
  if (isTooLarge) throw provider.bodyTooLarge();
  const { body, files } = readBody(operation, received, provider);
  const call: ProviderCall = { requestId, origin, request, body, files, params, fault };
  const response = await operation.respond(call, services);
  return fault.malformedJson === true ? cutInHalf(response, fault.status) : response;
}

function readBody(
  { body: kind = "json" }: Operation,
  { body, form }: ReceivedRequest,
  provider: Provider,
): { body: JsonObject; files: ProviderCall["files"] } {
  if (kind === "none") return { body: {}, files: undefined };
  if (form !== undefined && kind !== "json") return { body: form.texts, files: form.files };
  if (!isJsonObject(body) || kind === "form") throw provider.bodyNotJson();
  return { body, files: undefined };
}

function isKeyAccepted(request: Request, provider: Provider, services: Services): boolean {
  if (provider.needsKey === false) return true;
  const accepted = provider.acceptedKeys(services);
  const key = (provider.readKey ?? readBearerKey)(request);
  return key !== undefined && (accepted === undefined || accepted.includes(key));
}

function refuseByFault(provider: Provider, fault: Fault): void {
  if (fault.wrongKey === true) throw provider.wrongKey();
  const { code, status, message, type, retryAfterSeconds } = fault;
  const hasOtherOutcome =
    fault.malformedJson ??
    fault.emptyBody ??
    (fault.streamErrorAfterImages !== undefined || fault.streamErrorAfterEvents !== undefined);
  if (hasOtherOutcome || (code === undefined && status === undefined && type === undefined)) return;
  throw new Refusal({
    code: code ?? provider.codeForStatus(status ?? 500),
    status,
    message,
    type,
    retryAfterSeconds,
    headers: retryHeaders(fault),
  });
}

function retryHeaders({ retryAfterMs, shouldRetry }: Fault): Record<string, string> {
  return {
    ...(retryAfterMs === undefined ? {} : { "retry-after-ms": String(retryAfterMs) }),
    ...(shouldRetry === undefined ? {} : { "x-should-retry": String(shouldRetry) }),
  };
}

/** The first half of the JSON. In a stream: the first half of the first event. */
async function cutInHalf(response: Response, status = response.status): Promise<Response> {
  const text = await response.text();
  const end = text.indexOf("\n\n");
  const half = Math.floor((end === -1 ? text.length : end) / 2);
  return new Response(text.slice(0, half), { status, headers: response.headers });
}
