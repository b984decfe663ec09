import { Agent } from "node:http";
import { open, type ReadResponse, readResponse } from "../support/http-client.ts";
import { GENERATIONS } from "../support/image-calls.ts";
import { FLEET_CALLERS, type FleetCaller } from "./gateway-plan.ts";

/** A request to a fleet. */
export interface FleetCall {
  readonly caller: FleetCaller;
  readonly model: string;
  /** The maximum number of requested images. Default 1. */
  readonly n?: number;
  readonly prompt?: string;
  readonly idempotencyKey?: string;
}

const agent = new Agent({ keepAlive: true });

/** Sends a request to one gateway and reads its response. */
export function call(url: string, { caller, idempotencyKey, ...fields }: FleetCall): Promise<ReadResponse> {
  const headers = {
    authorization: `Bearer ${FLEET_CALLERS[caller].key}`,
    "content-type": "application/json",
    ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
  };
  const outgoing = open(url, { path: GENERATIONS, headers }, agent);
  const answered = readResponse(outgoing);
  outgoing.end(JSON.stringify({ prompt: "an oak", size: "2K", ...fields }));
  return answered;
}

/** Sends requests of this number of parallel clients, to the gateways in turn. */
export function callAtOnce(
  count: number,
  { nextUrl }: { readonly nextUrl: () => string },
  planned: FleetCall,
): Promise<ReadResponse[]> {
  return Promise.all(Array.from({ length: count }, () => call(nextUrl(), planned)));
}

/**
 * Counts the responses by kind: `200`, or the status and code of an error such as `429 rate_limit_exceeded`.
 */
export function tally(responses: readonly ReadResponse[]): Readonly<Record<string, number>> {
  const kinds = Map.groupBy(responses, kindOf);
  return Object.fromEntries([...kinds].map(([kind, of]) => [kind, of.length]));
}

/** The kind of a response. Unknown responses are returned as they are. */
export function kindOf({ status, text }: ReadResponse): string {
  const body: { data?: unknown; error?: { code: string } } = JSON.parse(text);
  if (status === 200 && Array.isArray(body.data)) return "200";
  return body.error === undefined ? `${status} ${text}` : `${status} ${body.error.code}`;
}
