import type { Agent, ClientRequest } from "node:http";
import { text } from "node:stream/consumers";
import { open, responseTo } from "../support/http-client.ts";
import { GENERATIONS } from "../support/image-calls.ts";
import { CALLERS, type CallerId, NOWHERE_SERIES, SEEDREAM_SERIES } from "./server-plan.ts";

/** A request that a client is going to send. */
export interface PlannedCall {
  /** Its own: names its model, hence its record, and stands in its prompt. */
  readonly name: string;
  readonly caller: CallerId;
  /** How many images it asks for at most. */
  readonly n: number;
  readonly stream: boolean;
  /** To a model whose provider nobody reaches. */
  readonly nowhere?: boolean;
  /** The client goes away then, whatever it has. */
  readonly leaveAfterMs?: number | undefined;
}

/** What a client saw of its request. */
export interface Sighting extends PlannedCall {
  /** `x-request-id`, where an answer began. */
  readonly id: string | undefined;
  /** The answer, where the client saw the end of it. */
  readonly end: { readonly status: number; readonly images: number } | undefined;
}

/** The model of a call, as its record has it. */
export const modelOf = ({ name, nowhere = false }: PlannedCall): string =>
  (nowhere ? NOWHERE_SERIES : SEEDREAM_SERIES) + name;

/** The prompt of a call, as the provider gets it; it asks for two images where there may be more than one. */
export const promptOf = ({ name, n }: PlannedCall): string => `${n > 1 ? "2 images" : "an oak"}, ${name}`;

/** Sends a request and reads its answer as far as it comes. Never rejects. */
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
    return { ...planned, id, end: { status: incoming.statusCode ?? 0, images: countImages(body) } };
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

/** Each image of an answer in JSON or in events has one link. */
function countImages(body: string): number {
  return [...body.matchAll(/"url":"http/g)].length;
}
