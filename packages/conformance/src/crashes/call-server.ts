import type { Agent, ClientRequest } from "node:http";
import { text } from "node:stream/consumers";
import { open, responseTo } from "../support/http-client.ts";
import { GENERATIONS } from "../support/image-calls.ts";
import { CALLERS, type CallerId, NOWHERE_SERIES, SEEDREAM_SERIES, SINGLE_SERIES } from "./server-plan.ts";

/** A request of a client. */
export interface PlannedCall {
  /** Unique. It is part of the model name, so that the record can be found, and of the prompt. */
  readonly name: string;
  readonly caller: CallerId;
  /** The maximum number of requested images. */
  readonly n: number;
  readonly stream: boolean;
  /** True for a model that makes one image per call. It does not stream several images. */
  readonly single?: boolean;
  /** True for a model whose provider cannot be reached. */
  readonly nowhere?: boolean;
  /** When the client disconnects. */
  readonly leaveAfterMs?: number | undefined;
}

/** The result of a request for its client. */
export interface Sighting extends PlannedCall {
  /** `x-request-id`, if a response began. */
  readonly id: string | undefined;
  /** The response, if the client received it completely. */
  readonly end: SightedEnd | undefined;
}

/** A complete response. */
interface SightedEnd {
  readonly status: number;
  readonly images: number;
  /** True if it says that the request failed. */
  readonly isFailure: boolean;
  /** The header `retry-after`. */
  readonly retryAfter: string | undefined;
}

/** The model of a request, as in its record. */
export function modelOf({ name, nowhere = false, single = false }: PlannedCall): string {
  if (nowhere) return NOWHERE_SERIES + name;
  return (single ? SINGLE_SERIES : SEEDREAM_SERIES) + name;
}

/** The prompt of a request. It asks for two images if more than one is allowed. */
export const promptOf = ({ name, n }: PlannedCall): string => `${n > 1 ? "2 images" : "an oak"}, ${name}`;

/** Sends a request and reads its response until it ends or breaks off. Never rejects. */
export async function callServer(url: string, planned: PlannedCall, agent: Agent): Promise<Sighting> {
  const outgoing = openCall(url, planned, agent);
  const leaving =
    planned.leaveAfterMs === undefined
      ? undefined
      : setTimeout(() => outgoing.destroy(), planned.leaveAfterMs);
  let id: string | undefined;
  try {
    const incoming = await responseTo(outgoing);
    id = String(incoming.headers["x-request-id"]);
    const body = await text(incoming);
    const status = incoming.statusCode ?? 0;
    const isFailure = status !== 200 || /^event: error$/m.test(body);
    const retryAfter = incoming.headers["retry-after"];
    return { ...planned, id, end: { status, images: countImages(body), isFailure, retryAfter } };
  } catch {
    return { ...planned, id, end: undefined };
  } finally {
    clearTimeout(leaving);
  }
}

function openCall(url: string, planned: PlannedCall, agent: Agent): ClientRequest {
  const { caller, n, stream } = planned;
  const headers = {
    authorization: `Bearer ${CALLERS[caller].key}`,
    "content-type": "application/json",
  };
  const body = { model: modelOf(planned), prompt: promptOf(planned), size: "1K", n, stream };
  const outgoing = open(url, { path: GENERATIONS, headers }, agent);
  return outgoing.end(JSON.stringify(body));
}

/** Counts the links of a response: each image has one, in JSON and in events. */
function countImages(body: string): number {
  return [...body.matchAll(/"url":"http/g)].length;
}
