import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { type Call, open, responseTo } from "../support/http-client.ts";
import { readEvents } from "../support/read-events.ts";
import type { Repeat, Sight } from "./row.ts";

/** When a client disconnects. */
export type Leaving = "before the response" | "after the head" | "during the body" | "after the response";

/** Sends a request and reads the response until it ends or breaks off. */
export async function readToEnd(origin: string, call: Call): Promise<Sight> {
  const { outgoing, response } = send(origin, call);
  const sight = await toSight(await response);
  outgoing.destroy();
  return sight;
}

/** Repeats a request that has an idempotency key, and says whether it runs or gets the stored response (or a 409). */
export async function repeatCall(origin: string, call: Call): Promise<Repeat> {
  for (;;) {
    const { outgoing, response } = send(origin, call);
    const incoming = await response;
    const { text } = await readText(incoming);
    outgoing.destroy();
    const code = incoming.statusCode === 409 ? codeOf(JSON.parse(text)) : undefined;
    if (code === "idempotency_in_progress") continue;
    const isStored = code === "idempotency_not_replayable" || "idempotent-replayed" in incoming.headers;
    return isStored ? "stored" : "runs";
  }
}

/**
 * Sends a request and disconnects at the given time.
 *
 * @param providerCalled resolves when the provider has the request
 */
export async function leave(
  origin: string,
  call: Call,
  when: Exclude<Leaving, "after the response">,
  providerCalled: Promise<unknown>,
): Promise<void> {
  const { outgoing, response } = send(origin, call);
  if (when === "before the response") {
    response.catch(() => undefined);
    await providerCalled;
  } else {
    const incoming = await response;
    incoming.on("error", () => undefined);
    if (when === "during the body") await once(incoming, "data");
  }
  outgoing.destroy();
}

function send(origin: string, call: Call): { outgoing: ClientRequest; response: Promise<IncomingMessage> } {
  const outgoing = open(origin, call);
  const response = responseTo(outgoing);
  outgoing.end(call.body);
  return { outgoing, response };
}

async function toSight(incoming: IncomingMessage): Promise<Sight> {
  const { text, brokeOff } = await readText(incoming);
  const contentType = incoming.headers["content-type"];
  return sightOf({ status: incoming.statusCode ?? 0, contentType, text, brokeOff });
}

/** A response that was read completely, or until it broke off. */
export interface ReadBody {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly text: string;
  /** True if the connection ended before the response did. */
  readonly brokeOff: boolean;
}

/** Describes a response as the rows do. */
export function sightOf({ status, contentType, text, brokeOff }: ReadBody): Sight {
  const isEvents = contentType?.startsWith("text/event-stream") === true;
  const sight = isEvents ? sightOfEvents(text) : brokeOff ? { images: 0 } : sightOfJson(text);
  return { status, ...sight, ...(brokeOff && { ending: "breaks off" }) };
}

async function readText(incoming: IncomingMessage): Promise<{ text: string; brokeOff: boolean }> {
  let text = "";
  try {
    for await (const chunk of incoming.setEncoding("utf8")) text += String(chunk);
    return { text, brokeOff: false };
  } catch {
    return { text, brokeOff: true };
  }
}

function sightOfEvents(text: string): Omit<Sight, "status"> {
  const events = readEvents(text);
  const images = events.filter(isImageEvent).length;
  // A JSON response in a stream that began early is an event without a name.
  const json = events.find(({ event, data }) => event === undefined && data.startsWith("{"));
  if (json !== undefined) return sightOfJson(json.data);
  const failure = events.find(({ event }) => event === "error");
  return {
    images,
    ...(failure !== undefined && { code: codeOf(JSON.parse(failure.data)), ending: "error event" }),
  };
}

/** True for the event of an image, in the native format or in OpenAI's. */
function isImageEvent({
  event,
  data,
}: {
  readonly event?: string | undefined;
  readonly data: string;
}): boolean {
  if (event === "image_generation.partial_succeeded") return true;
  return event === "image_generation.completed" && isImage(JSON.parse(data));
}

function sightOfJson(text: string): Omit<Sight, "status"> {
  const body: unknown = JSON.parse(text);
  const data = fieldOf(body, "data");
  if (!Array.isArray(data)) return { code: codeOf(body) };
  return { images: data.filter(isImage).length };
}

function isImage(item: unknown): boolean {
  return [fieldOf(item, "url"), fieldOf(item, "b64_json")].some((value) => typeof value === "string");
}

function codeOf(body: unknown): string {
  return String(fieldOf(fieldOf(body, "error"), "code"));
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
